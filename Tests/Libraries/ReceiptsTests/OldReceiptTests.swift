import PushRandom
import Receipts
import TestSupport
import TestTraits
import Testing

@Suite struct OldReceiptTests {
    /// Encodes an element, in DER, or with an indefinite length.
    private func element(_ tag: UInt8, _ content: [UInt8], isIndefinite: Bool = false) -> [UInt8] {
        if isIndefinite { return [tag, 0x80] + content + [0, 0] }
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        return [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xff)] + content
    }

    private func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        let digits: [UInt8] = type < 0x80 ? [UInt8(type)] : [UInt8(type >> 8), UInt8(type & 0xff)]
        return element(0x30, element(2, digits) + element(2, [1]) + element(4, value))
    }

    private func text(_ text: String, tag: UInt8 = 0x0c) -> [UInt8] { element(tag, Array(text.utf8)) }

    private func receipt(isBER: Bool = false, purchases: [(product: String, id: String, original: String)]) -> [UInt8] {
        var content = attribute(0, [1, 2, 3]) + attribute(2, text("com.example.shop")) + attribute(3, text("7"))
        content += attribute(12, text("2026-01-01T00:00:00Z", tag: 0x16))
        for purchase in purchases {
            let fields =
                attribute(1701, element(2, [1])) + attribute(1702, text(purchase.product))
                + attribute(1703, text(purchase.id)) + attribute(1705, text(purchase.original))
            content += attribute(17, element(0x31, fields))
        }
        let payload = element(0x31, content)
        let oid: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07]
        let half = payload.count / 2
        let octets =
            isBER
            ? element(
                0x24, element(4, Array(payload[..<half])) + element(4, Array(payload[half...])), isIndefinite: true)
            : element(4, payload)
        func wrap(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { element(tag, content, isIndefinite: isBER) }
        let inner = wrap(0x30, element(6, oid + [1]) + wrap(0xa0, octets))
        let signed = wrap(0x30, element(2, [1]) + element(0x31, []) + inner + element(0x31, []))
        return wrap(0x30, element(6, oid + [2]) + wrap(0xa0, signed))
    }

    @Test("The ids of transactions are read, from DER and from BER", arguments: [false, true])
    func read(isBER: Bool) throws {
        let bytes = receipt(isBER: isBER, purchases: [("gold", "2000", "1000"), ("silver", "3000", "")])
        for found in [try OldReceipt(der: bytes), try OldReceipt(base64: StoreSigner.base64(bytes) + "\n")] {
            #expect(found.bundleID == "com.example.shop" && found.version == "7")
            #expect(found.purchases.map(\.productID) == ["gold", "silver"])
            #expect(found.purchases.map(\.transactionID) == ["2000", "3000"])
            #expect(found.purchases.map(\.originalTransactionID) == ["1000", nil])
            #expect(found.transactionID == "1000")
        }
    }

    @Test("A receipt without purchases has no transaction")
    func empty() throws {
        #expect(try OldReceipt(der: receipt(purchases: [])).transactionID == nil)
    }

    @Test("Each cut of a receipt, and deep nesting, is refused")
    func cut() throws {
        for isBER in [false, true] {
            let bytes = receipt(isBER: isBER, purchases: [("gold", "2000", "1000")])
            for length in 0..<bytes.count {
                #expect(refusal { try OldReceipt(der: Array(bytes[..<length])) } == .malformedReceipt)
            }
        }
        let deep = [UInt8](repeating: 0, count: 100_000).enumerated().map {
            $0.offset.isMultiple(of: 2) ? 0x30 : 0x80 as UInt8
        }
        #expect(refusal { try OldReceipt(der: deep) } == .malformedReceipt)
        #expect(refusal { try OldReceipt(der: [0x30, 0x84, 0xff, 0xff, 0xff, 0xff]) } == .malformedReceipt)
        #expect(refusal { try OldReceipt(der: [UInt8](repeating: 0x30, count: 5_000_000)) } == .malformedReceipt)
        #expect(refusal { try OldReceipt(base64: "e30.e30.e30") } == .malformedReceipt)
    }

    @Test("Random changes do not trap", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let genuine = receipt(isBER: seed.isMultiple(of: 2), purchases: [("gold", "2000", "1000")])
        var refused = 0
        for _ in 0..<RunKind.rounds(3000) {
            let bytes = random.mutate(genuine, chance: 0.95)
            if (try? OldReceipt(der: bytes)) == nil { refused += 1 }
        }
        #expect(refused > RunKind.rounds(300))
    }
}
