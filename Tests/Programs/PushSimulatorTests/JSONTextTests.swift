import JSON5
import Testing

@testable import PushSimulator

@Suite struct JSONTextTests {
    @Test("Written JSON is valid and has the same values")
    func writesWhatItReads() throws {
        let parsed = try JSON5Reader.read(Array("{'run time': null}".utf8))
        var text = JSONText()
        text.object {
            $0.member("a", string: "quote \" backslash \\ newline \n é")
            $0.member("n", number: -5)
            $0.member("b", boolean: true)
            $0.member("h", hex: [0xab, 0x01])
            $0.member("j", json: Array("[0.5]".utf8))
            $0.array("list") { list in
                list.element("x")
                list.element(bytes: [0xc3, 0xa9])
                list.object { _ in }
                list.tree(parsed)
            }
        }
        let tree = try #require(ByteView.lending(text.bytes) { JSONTree.strict($0) })
        #expect(tree["a"]?.string == "quote \" backslash \\ newline \n é")
        #expect(tree["n"]?.integer == -5)
        #expect(tree["b"]?.boolean == true)
        #expect(tree["h"]?.string == "ab01")
        #expect(tree["j"]?.elements?.map(\.value) == [.number(0.5)])
        let list = try #require(tree["list"]?.elements)
        #expect(list[..<3].map(\.value) == [.string("x"), .string("é"), .object([])])
        #expect(list[3]["run time"]?.value == .null)
        #expect(ByteView.lending(Array("{a:1}".utf8)) { JSONTree.strict($0) } == nil)
    }
}
