# SPDX-License-Identifier: MPL-2.0
"""The commands of jobs/README.md, in the order in which an operator meets them. The text after the
backquotes of a fence says what is in it: `sh` is typed on node-1 and `sh each` on each host; a
`text` that follows at once is the output of the last command; `hcl PATH` and `yaml PATH` are the
file PATH of each host. `...` in an output stands for any words, and a line of it for any lines."""
import re
import subprocess
import textwrap
from dataclasses import dataclass

from client import ROOT

GUIDE = ROOT / "jobs/README.md"
FENCE = re.compile(r"^( *)```(\S+) ?(.*)\n((?:.*\n)*?)\1```\n", re.M)
LEFT_OUT = "## What the test does not type\n"
INDENTED = re.compile(r"\n\n(    .*)")
ROW = re.compile(r"^\| (`.+`) \| (.+) \|$", re.M)
AGAIN = "  # again"  # begins the comment of a command that is typed until it succeeds
ASIDE = "  # in another shell"  # the comment of a command that does not end
ANY = re.escape("...")


@dataclass
class Command:
    line: int
    text: str
    section: str
    each: bool = False
    output: str = ""

    def shows(self, text):
        """True if the text is the output that the guide shows."""
        pattern = ""
        for line in self.output.splitlines():
            words = [re.escape(word).replace(ANY, ".*") for word in line.split()]
            pattern += r"(.*\n)*" if line == "..." else r" *" + " +".join(words) + r" *\n"
        return re.fullmatch(pattern, text) is not None

    @property
    def aside(self):
        return ASIDE in self.text

    @property
    def again(self):
        return AGAIN in self.text or bool(self.output)


@dataclass
class File:
    line: int
    path: str
    text: str
    section: str
    each = True


def is_whole(text):
    """True if a shell would not wait for another line."""
    return not text.endswith("\\") and not subprocess.run(
        ["bash", "-n", "-c", text], capture_output=True, check=False).returncode


def commands(text):
    """Return the commands in a block, each with the number of its first line."""
    found, begun = [], []
    for number, line in enumerate(text.splitlines()):
        begun.append(line)
        if is_whole("\n".join(begun)):
            found.append((number - len(begun) + 1, "\n".join(begun)))
            begun = []
    assert not begun, f"not a whole command: {begun}"
    return [(number, each) for number, each in found if each.strip()]


def steps():
    """Return the Commands and Files of the guide."""
    guide, found, last = GUIDE.read_text(), [], 0
    unseen = INDENTED.findall(FENCE.sub("", guide))
    assert not unseen, f"not in a fence, so not typed: {unseen}"
    for block in FENCE.finditer(guide):
        _, kind, words, text = block.groups()
        text = textwrap.dedent(text)
        line = guide.count("\n", 0, block.start()) + 2
        section = re.findall(r"^##+ (.*)", guide[:block.start()], re.M)[-1]
        if kind == "sh":
            found += [Command(line + number, each, section, each=words == "each")
                      for number, each in commands(text)]
            last = block.end()
        elif kind == "text" and found and not guide[last:block.start()].strip():
            found[-1].output = text
        elif kind in ("hcl", "yaml") and words:
            found.append(File(line, words, text, section))
    return found


def left_out():
    """Return the commands that the guide says are not typed: how they begin, and why."""
    rows = ROW.findall(GUIDE.read_text().split(LEFT_OUT)[1])
    return {beginning: why for row, why in rows for beginning in re.findall("`(.+?)`", row)}
