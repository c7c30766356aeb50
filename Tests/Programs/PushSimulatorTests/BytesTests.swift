import TestSupport
import Testing

@testable import PushSimulator

@Suite struct BytesTests {
    @Test("Hexadecimal digits are converted in steps of eight, and other characters are rejected")
    func hexBySteps() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2000 {
            let value = UInt32(truncatingIfNeeded: random.next())
            let digits = withUnsafeBytes(of: value.littleEndian) { Hex.text(Array($0)) }
            for text in [digits, digits.uppercased()] {
                #expect(ByteView.lending(Array(text.utf8)) { Hex.bytes($0.word(at: 0)) } == value)
            }
        }
        for byte in UInt8.min...UInt8.max {
            for place in 0..<8 {
                var text = Array("0123abCD".utf8)
                text[place] = byte
                let isDigit = Hex.value(byte) != nil
                #expect((ByteView.lending(text) { Hex.bytes($0.word(at: 0)) } != nil) == isDigit, "\(byte) at \(place)")
            }
        }
    }

    static let encoded = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("The examples of RFC 4648 encode and decode", arguments: encoded)
    func base64(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        #expect(Base64.encode(bytes) == Array(text.utf8))
        #expect(ByteView.lending(Array(text.utf8)) { Base64.decode($0) } == bytes)
        let bare = Array(text.utf8.filter { $0 != UInt8(ascii: "=") })
        #expect(Base64.encodeURL(bytes) == bare)
        #expect(ByteView.lending(bare) { Base64.decodeURL($0) } == bytes)
    }

    @Test("Malformed Base64 is rejected", arguments: ["a", "Zg=", "Zh==", "Z===", "====", "Zm9v!", "Zm9-"])
    func refusesBase64(_ text: String) {
        #expect(ByteView.lending(Array(text.utf8)) { Base64.decode($0) } == nil)
    }

    @Test("Malformed Base64 with the URL alphabet is rejected", arguments: ["a", "Zg==", "Zh", "Zm+v", "Zm/v", "Zm9 "])
    func refusesBase64URL(_ text: String) {
        #expect(ByteView.lending(Array(text.utf8)) { Base64.decodeURL($0) } == nil)
    }

    @Test("Decimal numbers have digits only, and fit 63 bits")
    func decimals() {
        for (text, value) in [("0", 0), ("007", 7), ("1767225600", 1_767_225_600)] as [(String, Int64)] {
            #expect(ByteView.lending(Array(text.utf8)) { $0.decimal() } == value)
        }
        for text in ["", "-1", "+1", "1.0", "1 ", "a", "1234567890123456789"] {
            #expect(ByteView.lending(Array(text.utf8)) { $0.decimal() } == nil)
        }
    }

    @Test("The table has the contents of a dictionary after random changes")
    func tableAgainstDictionary() {
        var table = ByteTable<Int>()
        var model: [[UInt8]: Int] = [:]
        var random = SeededRandom(seed: 3)
        for step in 0..<20_000 {
            let key = (0..<Int.random(in: 0...2, using: &random)).map { _ in UInt8.random(in: 0..<40, using: &random) }
            if Int.random(in: 0..<3, using: &random) == 0 {
                #expect(table.remove(key) == model.removeValue(forKey: key))
            } else {
                table.set(step, for: key)
                model[key] = step
            }
            #expect(table.count == model.count)
            let probe = [UInt8.random(in: 0..<40, using: &random)]
            #expect(table[probe] == model[probe])
        }
        var listed: [[UInt8]: Int] = [:]
        table.forEach { listed[$0] = $1 }
        #expect(listed == model)
    }

    @Test("The same seed produces the same random numbers")
    func randomRepeats() {
        var first = SeededRandom(seed: 42)
        var second = SeededRandom(seed: 42)
        var other = SeededRandom(seed: 43)
        let values = (0..<100).map { _ in first.next() }
        #expect(values == (0..<100).map { _ in second.next() })
        #expect(values != (0..<100).map { _ in other.next() })
        #expect((0..<1000).allSatisfy { _ in (0..<1).contains(first.unit()) })
    }
}
