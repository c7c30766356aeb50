import JSON5
import Testing

@testable import PushSimulator

@Suite struct JSONTextTests {
    @Test("Written JSON is valid and has the same values")
    func writesWhatItReads() throws {
        var text = JSONText()
        text.object {
            $0.string("a", "quote \" backslash \\ newline \n é")
            $0.number("n", -5)
            $0.array("list") { list in
                list.boolean(nil, true)
                list.hex(nil, [0xab, 0x01])
                list.object { _ in }
            }
            $0.number(named: "run time", 1)
        }
        let tree = try #require(ByteView.lending(text.bytes) { JSONTree.strict($0) })
        #expect(tree["a"]?.string == "quote \" backslash \\ newline \n é")
        #expect(tree["list"]?.elements?.map(\.value) == [.boolean(true), .string("ab01"), .object([])])
        #expect(tree["run time"]?.integer == 1)
        #expect(ByteView.lending(Array("{a:1}".utf8)) { JSONTree.strict($0) } == nil)
    }
}
