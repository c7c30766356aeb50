"""Reads the targets of Package.swift for the checks in Tools."""

import collections
import re

# A target: its room ("Sources/Base"), its name, its kind ("target", "testTarget", …), the names of the targets that it
# depends on, and its line in Package.swift.
Target = collections.namedtuple("Target", "room name kind dependencies line")

LIST = "let rooms: KeyValuePairs<String, [Target]> = ["
ROOM = re.compile(r'"((?:Sources|Tests)/\w+)":\s*(?=\[)')
ENTRY = re.compile(r"\.(target|testTarget|executableTarget|systemLibrary)(?=\()")
SKIPPED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


class Unreadable(Exception):
    """Package.swift does not have the form that this module reads."""


def closing(text, start):
    """Returns the offset of the bracket that closes the one at `start`."""
    depth, at = 0, start
    while at < len(text):
        if skipped := SKIPPED.match(text, at):
            at = skipped.end()
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise Unreadable("a bracket is not closed")


def without_comments(text):
    return SKIPPED.sub(lambda match: match[0] if match[0].startswith('"') else " " * len(match[0]), text)


def targets(text):
    """Returns the targets of the rooms, in their order."""
    text = without_comments(text)
    begin = text.find(LIST)
    if begin < 0:
        raise Unreadable(f"there is no `{LIST}`")
    start, found = begin + len(LIST) - 1, []
    end = closing(text, start)
    at = start + 1
    while room := ROOM.search(text, at, end):
        stop = closing(text, room.end())
        position = room.end()
        while entry := ENTRY.search(text, position, stop):
            position = closing(text, entry.end())
            words = text[entry.start():position]
            name = re.search(r'name:\s*"(\w+)"', words)
            if not name:
                raise Unreadable(f"a target of {room[1]} has no name")
            listed = re.search(r"dependencies:\s*\[([^\]]*)\]", words)
            dependencies = re.findall(r'"(\w+)"', listed[1]) if listed else []
            line = text.count("\n", 0, entry.start()) + 1
            found.append(Target(room[1], name[1], entry[1], dependencies, line))
        at = stop
    return found
