"""A run that does not reach its end says why, and its notebook is kept; a busy machine is no reason."""

import nbformat
import pytest
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from intertwine_book.build import chapters, execute
from intertwine_book.build.layout import BookError

pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not ours


def test_a_failing_cell_is_named_and_the_notebook_as_far_as_it_came_is_kept(tiny_book):
    with tiny_book.chapters["01_first"].open("a") as source:
        source.write("\n# %%\nlevel = 3\nassert level > 4\n\n# %% [markdown]\n# The level is above 4.\n")
    kept = tiny_book.failed("quick", "01_first")
    with pytest.raises(BookError) as error:
        chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"])
    for word in ("01_first", "In [3]", "level = 3", "AssertionError", "begins: The level is", str(kept)):
        assert word in str(error.value)
    assert str(error.value).startswith("AssertionError: ")
    assert "AssertionError" in kept.read_text()
    assert not tiny_book.executed("quick", "01_first").exists()


DIES = """
# %%
print("so far")
# %%
import os
os._exit(1)
"""
# on a busy machine the word that a cell has ended comes seconds after its reply
LATE = """
# %%
kernel = get_ipython().kernel
publish = kernel._publish_status

def late(status, *more, **others):
    time.sleep(6 * (status == "idle"))
    publish(status, *more, **others)

kernel._publish_status = late
print("at last")

# %%
kernel._publish_status = publish
"""


@pytest.mark.slow
def test_output_that_comes_late_is_waited_for(tiny_book):
    with tiny_book.chapters["01_first"].open("a") as source:
        source.write(LATE)
    assert chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"]) == "done"
    assert "at last" in tiny_book.executed("quick", "01_first").read_text()


@pytest.mark.slow
def test_a_kernel_that_dies_is_told_with_what_helps_and_its_notebook_is_kept(tiny_book):
    with tiny_book.chapters["01_first"].open("a") as source:
        source.write(DIES)
    with pytest.raises(BookError) as error:
        chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"])
    kept = tiny_book.failed("quick", "01_first")
    for word in ("DeadKernelError: ", "In [4], which begins `import os`", "--jobs 1", str(kept)):
        assert word in str(error.value)
    assert any(cell.get("outputs") for cell in nbformat.read(kept, 4).cells)


def stop_at_the_second_cell(error: Exception, given: dict):
    """In place of papermill: a run that reaches a cell and goes no further."""

    def stopped(node, output, **options):
        given.update(options)
        node.cells[1].outputs = [nbformat.v4.new_output("stream", text="as far as it came")]
        options["report"](2, node)
        raise error

    return stopped


@pytest.mark.parametrize(
    "error",
    [
        CellTimeoutError.error_from_timeout_and_cell("Timeout", 600, nbformat.v4.new_code_cell("0")),
        DeadKernelError("Kernel died"),
        RuntimeError("Kernel died before replying to kernel_info"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_whatever_ends_a_run_its_notebook_is_kept_and_a_kernel_has_long_to_answer(
    tiny_book, monkeypatch, error
):
    given: dict = {}
    monkeypatch.setattr(execute, "execute_notebook", stop_at_the_second_cell(error, given))
    task, kept = chapters.plan(tiny_book, "quick")["01_first"], tiny_book.failed("quick", "01_first")
    with pytest.raises(BookError, match=rf"^{type(error).__name__}: .*\n    in cell In \[1\], which") as said:
        chapters.bring_up_to_date(task)
    assert str(kept) in str(said.value) and "preview" not in str(said.value)
    assert "as far as it came" in kept.read_text()
    assert given["iopub_timeout"] >= 600 and given["start_timeout"] >= 600


def test_a_disk_that_has_no_room_for_the_notebook_does_not_hide_why_the_cell_failed(tiny_book, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    stopped = stop_at_the_second_cell(RuntimeError("no table"), {})
    monkeypatch.setattr(execute, "execute_notebook", stopped)
    monkeypatch.setattr(nbformat, "write", full)
    with pytest.raises(BookError, match=r"^RuntimeError: no table\n(.*\n)+.*not be kept: No space left"):
        chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"])
