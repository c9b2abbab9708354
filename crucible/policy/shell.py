"""A shell command read as the programs it runs, so that a mention in a text is not taken for a deed.

Advice, never enforcement: a shell has endless ways to say a thing, and what the state of the files says counts more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_RESERVED = {"{", "}", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "time", "coproc"}
_WRAPPERS = {
    "builtin", "busybox", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "timeout",
    "watch", "xargs",
}  # fmt: skip
_SHELLS = {"ash", "bash", "dash", "ksh", "sh", "zsh"}
_INTERPRETERS = re.compile(r"(python|pypy)[\d.]*|perl|ruby|node|php")
_CODE_OPTIONS = ("-c", "-e", "--eval", "-r")
_OPTION_VALUE = re.compile(r"[\d.]+[smhd]?|\{\}")
"""What may follow an option of a program that runs another: a number, a time, xargs' place-holder."""
_PLAIN = re.compile(r"[^\s\\'\"`$<>;&|()]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_BREAKS = ";&|()\n"
MOST_CHARS = 64 * 1024
"""Of a longer command only this much is read."""
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Run:
    """One program as it is run: its name without folders, its arguments, the code it is given to interpret, if any."""

    program: str
    arguments: tuple[str, ...]
    code: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Program and arguments."""
        return (self.program, *self.arguments)


def runs(command: str) -> list[Run]:
    """Every program a command runs, in order: in lists, pipes, substitutions, `sh -c` and here-documents too."""
    return list(_runs(command[:MOST_CHARS], 0))


def _runs(command: str, depth: int) -> Iterator[Run]:
    if depth > _DEEPEST:
        return
    # All of it first: a here-document stands after the pipe it feeds.
    for simple in list(_Reader(command).simple_commands()):
        for inner in simple.inner:
            yield from _runs(inner, depth + 1)
        words = _unwrapped(simple.words)
        if not words or not words[0]:
            continue
        run = _run(words, simple.documents)
        yield run
        if run.program in _SHELLS or run.program == "eval":
            yield from _runs(" ".join(run.arguments) if run.program == "eval" else run.code, depth + 1)


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on: without keywords, assignments, and programs that only run another."""
    at, wrapped = 0, False
    while at < len(words):
        word = words[at]
        name = word.rpartition("/")[2]
        if name in _WRAPPERS:
            wrapped = True
        elif not (
            word in _RESERVED
            or _ASSIGNMENT.match(word)
            or (wrapped and (word.startswith("-") or _OPTION_VALUE.fullmatch(word)))
        ):
            return words[at:]
        at += 1
    # Nothing but `env` and the like: that is the program then.
    return [word for word in words if word.rpartition("/")[2] in _WRAPPERS][:1]


def _run(words: list[str], documents: list[str]) -> Run:
    program, arguments = words[0].rpartition("/")[2] or words[0], words[1:]
    if program not in _SHELLS and not _INTERPRETERS.fullmatch(program):
        return Run(program, tuple(arguments))
    # `-c` may stand in a cluster, as in `bash -lc`.
    after = (n + 1 for n, word in enumerate(arguments) if word in _CODE_OPTIONS or re.fullmatch(r"-[a-z]*c", word))
    given = [arguments[n] for n in after if n < len(arguments)][:1]
    return Run(program, tuple(arguments), "\n".join([*given, *documents]))


@dataclass
class _Simple:
    words: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)


class _Reader:
    """Reads words as a shell does, as far as it takes to tell programs, arguments and plain text apart."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.current = _Simple()
        self.word: str | None = None
        self.waiting: list[tuple[str, bool, _Simple]] = []
        self.drop = False

    def simple_commands(self) -> Iterator[_Simple]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in _BREAKS:
                self._end_word()
                self.at += 1
                if char == "\n":
                    self._read_documents()
                if self.current.words or self.current.inner:
                    yield self.current
                    self.current = _Simple()
            else:
                self._step(char)
        self._end_word()
        yield self.current

    def _step(self, char: str) -> None:
        if char in " \t":
            self._end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char in "<>":
            self._redirect(char)
        elif self.text.startswith("\\\n", self.at):
            self.at += 2
        else:
            self._add(self._piece(char))

    def _piece(self, char: str) -> str:
        """The next piece of a word, unquoted."""
        if char == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            return "" if escaped == "\n" else escaped
        if char == "'":
            return self._until("'")
        if char == '"':
            return self._double_quoted()
        if char == "`" or self.text.startswith("$(", self.at):
            return self._substitution()
        plain = _PLAIN.match(self.text, self.at)
        self.at = plain.end() if plain else self.at + 1
        return plain[0] if plain else char

    def _until(self, end: str) -> str:
        found = self.text.find(end, self.at + 1)
        found = len(self.text) if found < 0 else found
        piece = self.text[self.at + 1 : found]
        self.at = found + 1
        return piece

    def _double_quoted(self) -> str:
        self.at += 1
        pieces = []
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "'":
                self.at += 1
                pieces.append(char)
            else:
                pieces.append(self._piece(char))
        self.at += 1
        return "".join(pieces)

    def _substitution(self) -> str:
        start = self.at
        if self.text[start] == "`":
            self.current.inner.append(self._until("`"))
        else:
            self.at = _closing(self.text, start + 2)
            self.current.inner.append(self.text[start + 2 : self.at])
            self.at += 1
        return self.text[start : self.at]

    def _redirect(self, char: str) -> None:
        """What is written to is no argument; what is read from is."""
        if self.word is not None and self.word.isdigit():
            self.word = None
        self._end_word()
        operator = re.compile(r"<<<|<<-?|[<>]+[&|]?").match(self.text, self.at)
        assert operator is not None  # noqa: S101 - it begins with `char`
        self.at = operator.end()
        if operator[0].startswith("<<") and operator[0] != "<<<":
            self._note_document(operator[0].endswith("-"))
        else:
            self.drop = char == ">" and not self.text.startswith("(", self.at)

    def _note_document(self, tabs: bool) -> None:
        found = re.compile(r"[ \t]*([\"']?)([^\s\"';&|()<>]+)\1").match(self.text, self.at)
        if found:
            self.at = found.end()
            self.waiting.append((found[2].replace("\\", ""), tabs, self.current))

    def _read_documents(self) -> None:
        for end, tabs, owner in self.waiting:
            body = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = stop + 1
                if (line.lstrip("\t") if tabs else line) == end:
                    break
                body.append(line)
            owner.documents.append("\n".join(body))
        self.waiting = []

    def _add(self, piece: str) -> None:
        self.word = (self.word or "") + piece

    def _end_word(self) -> None:
        if self.word is not None:
            if not self.drop:
                self.current.words.append(self.word)
            self.drop = False
        self.word = None


def _closing(text: str, start: int) -> int:
    """Where the parenthesis opened before `start` closes; quotes are passed over."""
    depth, at = 1, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'":
            end = text.find("'", at + 1)
            at = len(text) if end < 0 else end
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return at
        at += 1
    return len(text)
