"""First phase: run the model once, and write down every call.

In: a model in evaluation mode, and example inputs.
Out: a `Run`. It numbers all values (parameters and buffers first, then inputs, then results) and lists the
calls between them, with the name of each function and its arguments. A value that depends on weights keeps
its shape; it keeps its entries only on request, as `match` by activations and `verify` make it.

Two passes then rewrite calls, because no rule could say from a single call what several calls do together:
`recognise` finds norms and rotary positions that are written by hand, by running some calls again on random
numbers; `separate` writes one layer as several where its outputs are cut within blocks, such as the
queries, keys and values of each head. The rules then read the run alone, not the model.

Read in this order:

1. `run`: the data types `Run`, `Call`, `Ref` and `Part`, and which calls an output needs.
2. `nested`: the tensors that inputs and outputs hold in collections and objects.
3. `given`: models as they come: compiled, scripted, sharded; and copies of them.
4. `recorder`: a `TorchFunctionMode` that sees each call. It refuses a run whose steps depend on weights.
5. `kept`: a `TorchDispatchMode` that keeps weights as they are where a model changes them.
6. `trace`: copies the model, watches its modules, and runs it under a recorder. `trace` is the entrance.
7. `recognise`: several calls become one, `by_hand`.
8. `views`: which entries of its argument a slice, a transpose or a split shows.
9. `interleaved`: one layer becomes several.
"""
