"""Time and memory of `act`, `canonicalise` and `match` on language models, as multiples of the model's own.

    python benchmarks/bench_memory.py [model ...]

Random weights in float32. Time is that of the processor on one thread, in forward passes of 4 × 128 tokens;
memory is the peak of torch's allocations, the result's included, in multiples of the weights.
`match` is given a moved copy; the error is the largest of a parameter, relative to its norm. More than the
limits fails.

Measured with torch 2.15 on one core of a loaded machine, before and after weights were moved one tensor at a
time, and in their own precision where a result is only an order (passes, times the weights):

                  gpt2-40                     llama-40
    act           0.5 → 0.6,  1.1 → 1.1      3.7 → 3.3,  2.1 → 1.2
    canonicalise  2.9 → 2.5,  2.1 → 1.1       51 → 11,   3.4 → 1.2
    match         10 → 8.1,   6.1 → 1.2       58 → 11,   6.5 → 1.2

After it, llama-156: act 5.7 passes, match 18; gpt2-355: act 0.6, match 15; all in 1.1 times the weights.
"""

import sys
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch
from paired import medians, one_thread
from torch import nn
from torch.profiler import ProfilerActivity, profile

from intertwine.weightspace import canonicalise, find_symmetries, match

GPT = {
    "gpt2-40": {"n_embd": 512, "n_layer": 8, "n_head": 8, "vocab_size": 30000},
    "gpt2-355": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
}
LLAMA = {
    "llama-40": {
        "hidden_size": 512,
        "intermediate_size": 1376,
        "num_attention_heads": 8,
        "vocab_size": 16000,
    },
    "llama-156": {"hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16},
}
LIMITS = {"gpt2-40": 60, "gpt2-355": 60, "llama-40": 100, "llama-156": 100}  # forward passes of match
MEMORY = 4  # times the weights, of each


def network(name: str) -> nn.Module:
    import transformers

    torch.manual_seed(0)
    if name in GPT:
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT[name]))
    else:
        options = {"num_hidden_layers": 8, "num_key_value_heads": LLAMA[name]["num_attention_heads"] // 2}
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**options, **LLAMA[name]))
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim == 1:  # gains of 1 and biases of 0 are no test
                p += 0.1 * torch.randn_like(p)
    return model.eval()


def measured(function: Callable[[], Any]) -> tuple[Any, float, int]:
    """What it returns, the seconds that it takes, and the most bytes of tensors at a time."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        start = time.process_time()
        result = function()
        seconds = time.process_time() - start
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    return result, seconds, max(accumulate(size for _, size in changes))


def main() -> None:
    one_thread()
    failures = []
    for name in sys.argv[1:] or ["gpt2-40", "llama-40"]:
        model = network(name)
        weights = sum(p.numel() * p.element_size() for p in model.parameters())
        tokens = torch.randint(0, 1000, (4, 128), generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            (once,) = medians(lambda: model(tokens), rounds=3)  # noqa: B023
        space = find_symmetries(model, tokens[:1, :32], check=False)
        element = space.sample(torch.Generator().manual_seed(0))
        moved = space.act(model, element)
        print(f"{name}: {weights / 4e6:.0f} million numbers, {once:.2f} s a forward pass", flush=True)
        uses = {
            "act": lambda: space.act(model, element),  # noqa: B023
            "canonicalise": lambda: canonicalise(space, moved),  # noqa: B023
            "match": lambda: match(space, model, moved),  # noqa: B023
        }
        for use, function in uses.items():
            result, seconds, peak = measured(function)
            print(
                f"  {use:13}{seconds / once:7.1f} passes{peak / weights:6.2f} times the weights", flush=True
            )
            if peak > MEMORY * weights:
                failures.append(f"{use} of {name} took {peak / weights:.1f} times the weights")
        pairs = zip(result.model.parameters(), model.parameters(), strict=True)
        print(f"  error {max(((x - y).norm() / y.norm()).item() for x, y in pairs):.0e}")
        if seconds > LIMITS[name] * once:
            failures.append(f"match of {name} took {seconds / once:.0f} forward passes")
    if failures:
        raise SystemExit("; ".join(failures))


if __name__ == "__main__":
    main()
