"""The examples of the library on a GPU: what they make lies there, and they print the same."""

import ast
import doctest
import importlib
import pkgutil
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import intertwine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU"),
]
MODULES = [each.name for each in pkgutil.walk_packages(intertwine.__path__, "intertwine.")]


def on_gpu(made: Any) -> Any:
    """The same value with its tensors and networks on the GPU; a leaf of a gradient remains one."""
    if type(made) in (tuple, list):
        return type(made)(map(on_gpu, made))
    if type(made) is dict:
        return {key: on_gpu(value) for key, value in made.items()}
    if isinstance(made, Tensor) and made.device.type == "cpu" and made.is_leaf and made.requires_grad:
        made.data = made.data.to("cuda")
    elif isinstance(made, nn.Module) or (isinstance(made, Tensor) and made.device.type == "cpu"):
        return made.to("cuda")
    return made


class OnGpu(ast.NodeTransformer):
    """What every call of an example gives is moved, but in functions, whose arguments lie where they lie."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        return ast.Call(ast.Name("on_gpu", ast.Load()), [self.generic_visit(node)], [])

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg == "device" and isinstance(node.value, ast.Constant) and node.value.value == "cpu":
            return ast.keyword("device", ast.Constant("cuda"))
        return self.generic_visit(node)


class SameButForTheDevice(doctest.OutputChecker):
    def check_output(self, want: str, got: str, flags: int) -> bool:
        return super().check_output(want, got.replace(", device='cuda:0'", ""), flags)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_on_a_gpu(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        for example in test.examples:
            tree = OnGpu().visit(ast.parse(example.source))
            example.source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        test.globs["on_gpu"] = on_gpu
        said = []
        runner = doctest.DocTestRunner(SameButForTheDevice(), optionflags=doctest.ELLIPSIS)
        failed, _ = runner.run(test, out=said.append)
        assert not failed, "".join(said)
