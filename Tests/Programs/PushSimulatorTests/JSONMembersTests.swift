import PushRandom
import TestSupport
import Testing

@testable import PushSimulator

@Suite struct JSONMembersTests {
    private func members(_ text: String) -> [[String]]? {
        ByteView.lending(Array(text.utf8)) { bytes in
            guard var members = JSONMembers(bytes) else { return nil }
            var found: [[String]] = []
            while let (key, value) = members.next() { found.append([key.text, value.text]) }
            return found
        }
    }

    @Test(
        "The members of an object keep their text",
        arguments: [
            ("{}", []), (" { } ", []), (#"{"a":1}"#, [["a", "1"]]),
            (#" {"a" : -1.5e3 , "b":"}" }"#, [["a", "-1.5e3"], ["b", "\"}\""]]),
            (#"{"":"","\"":"\\"}"#, [["", "\"\""], ["\\\"", "\"\\\\\""]]),
            (#"{"o":{"a":[1,{"b":"]"}]},"n":null}"#, [["o", #"{"a":[1,{"b":"]"}]}"#], ["n", "null"]]),
            ("{\"a\":[ ],\n\"b\":true\n}", [["a", "[ ]"], ["b", "true"]]),
        ] as [(String, [[String]])])
    func readsMembers(text: String, expected: [[String]]) {
        #expect(members(text) == expected)
    }

    @Test("Only an object has members", arguments: ["", " ", "1", "[]", "\"{}\"", "{", "null"])
    func objectsHaveMembers(_ text: String) {
        #expect(members(text) == nil)
    }

    @Test("Text that is not valid JSON is never read beyond its end")
    func survivesNonsense() {
        var random = SeededRandom(seed: 21)
        let text = #" {"aps":{"event":"up\u0064ate","x":[1,{"y":"\""}],"content-state":{"a":null}},"b":true} "#
        let good = Array(text.utf8)
        for _ in 0..<20_000 {
            var bytes = random.mutate(good, chance: 1)
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            ByteView.lending(bytes) { view in
                _ = ActivityPush(view)
                guard var members = JSONMembers(view) else { return }
                var count = 0
                while members.next() != nil { count += 1 }
                #expect(count <= bytes.count)
            }
        }
    }
}
