import TestSupport
import Testing

@testable import PushSimulator

@Suite struct MessageIDTests {
    @Test("An id has the same value after it is written and parsed")
    func goesThereAndBack() {
        var random = SeededRandom(seed: 9)
        for _ in 0..<500 {
            let id = MessageID.random(&random)
            #expect(ByteView.lending(id.text) { MessageID($0) } == id)
            #expect(ByteView.lending(id.text) { MessageID($0)?.isUppercase } == true)
            let small = Array(String(decoding: id.text, as: UTF8.self).lowercased().utf8)
            let read = ByteView.lending(small) { MessageID($0) }
            #expect(read == id)
            #expect(read?.text == small)
        }
    }

    @Test("Two different ids are not equal")
    func tellsIDsApart() {
        let text = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
        let id = ByteView.lending(Array(text.utf8)) { MessageID($0) }
        for place in 0..<36 where place != 8 && place != 13 && place != 18 && place != 23 {
            var other = Array(text.utf8)
            other[place] = other[place] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            #expect(ByteView.lending(other) { MessageID($0) } != id)
        }
    }

    @Test("Tokens of every length up to 100 bytes are decoded")
    func tokensOfEveryLength() {
        var random = SeededRandom(seed: 11)
        for length in 0...101 {
            let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let decoded = ByteView.lending(Array(Hex.text(bytes).utf8)) { TokenBytes(hex: $0) }
            #expect(decoded?.bytes == (length <= 100 ? bytes : nil))
            #expect(ByteView.lending(bytes) { TokenBytes($0) }?.bytes == decoded?.bytes)
        }
    }
}
