import PushModel
import PushWire

/// The binary form of the answer to a forwarded call: the body of `cluster-answer/1`.
enum ForwardedAnswer: Equatable {
    /// The answer to one request.
    enum Item: Equatable {
        case done(Acceptance)
        /// The node does not own the partition of the request, and has done nothing.
        case notOwned
    }

    case items([Item])
    case cancellations([Cancellation])
    case receipt(ReceiptIntake)
    /// What the node knows of itself, in a form that its asker knows.
    case knowledge([UInt8])
    /// The node has done nothing of the call, for this reason.
    case refused(String)

    private enum Tag {
        static let items: UInt8 = 0
        static let cancellation: UInt8 = 1
        static let receipt: UInt8 = 2
        static let refused: UInt8 = 3
        static let knowledge: UInt8 = 4
    }

    /// The longest text of a reason.
    private static let maxText = 1024

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .items(let items):
            bytes.append(Tag.items)
            bytes.appendVarint(UInt64(items.count))
            for item in items { Self.append(item, to: &bytes) }
        case .cancellations(let cancellations):
            bytes.append(Tag.cancellation)
            for cancellation in cancellations { Self.append(cancellation, to: &bytes) }
        case .receipt(let receipt):
            bytes.append(Tag.receipt)
            Self.append(receipt, to: &bytes)
        case .knowledge(let content):
            bytes.append(Tag.knowledge)
            bytes.appendBytes(content)
        case .refused(let reason):
            bytes.append(Tag.refused)
            bytes.appendText(String(reason.prefix(Self.maxText)))
        }
        return bytes
    }

    private static func append(_ item: Item, to bytes: inout [UInt8]) {
        switch item {
        case .done(.accepted(let seq)): append(0, seq, to: &bytes)
        case .done(.duplicate(let seq)): append(1, seq, to: &bytes)
        case .done(.conflict(let seq)): append(2, seq, to: &bytes)
        case .done(.expired): bytes.append(3)
        case .done(.failed(let reason)):
            bytes.append(4)
            bytes.appendText(String(reason.prefix(maxText)))
        case .notOwned: bytes.append(5)
        case .done(.withheld): bytes.append(6)
        case .done(.crowded): bytes.append(7)
        }
    }

    private static func append(_ tag: UInt8, _ seq: UInt64, to bytes: inout [UInt8]) {
        bytes.append(tag)
        bytes.appendVarint(seq)
    }

    private static func append(_ cancellation: Cancellation, to bytes: inout [UInt8]) {
        switch cancellation {
        case .cancelled(let counts):
            bytes.append(counts.isOfActivities ? 4 : 0)
            bytes.appendVarint(counts.sent)
            bytes.appendVarint(counts.cancelled)
        case .tooLate: bytes.append(1)
        case .unknown: bytes.append(2)
        case .failed(let reason):
            bytes.append(3)
            bytes.appendText(String(reason.prefix(maxText)))
        }
    }

    private static func append(_ receipt: ReceiptIntake, to bytes: inout [UInt8]) {
        switch receipt {
        case .stored(let seq): append(0, seq, to: &bytes)
        case .duplicate: bytes.append(1)
        case .failed(let reason):
            bytes.append(2)
            bytes.appendText(String(reason.prefix(maxText)))
        }
    }

    // MARK: Reading

    /// Reads an answer; nil if the bytes are invalid.
    ///
    /// - Parameter count: The number of requests of the call.
    init?(_ bytes: UnsafeRawBufferPointer, count: Int) {
        var reader = unsafe ByteReader(bytes)
        switch reader.byte() {
        case Tag.items:
            guard reader.varint() == UInt64(count) else { return nil }
            var items: [Item] = []
            for _ in 0..<count {
                guard let item = Self.item(&reader), !reader.isBroken else { return nil }
                items.append(item)
            }
            self = .items(items)
        case Tag.cancellation:
            var cancellations: [Cancellation] = []
            for _ in 0..<count {
                guard let cancellation = Self.cancellation(&reader), !reader.isBroken else { return nil }
                cancellations.append(cancellation)
            }
            self = .cancellations(cancellations)
        case Tag.receipt:
            guard let receipt = Self.receipt(&reader) else { return nil }
            self = .receipt(receipt)
        case Tag.refused: self = .refused(reader.text())
        case Tag.knowledge: self = .knowledge(reader.blob())
        default: return nil
        }
        if reader.isBroken || !reader.isAtEnd { return nil }
    }

    private static func item(_ reader: inout ByteReader) -> Item? {
        switch reader.byte() {
        case 0: .done(.accepted(seq: reader.varint()))
        case 1: .done(.duplicate(seq: reader.varint()))
        case 2: .done(.conflict(seq: reader.varint()))
        case 3: .done(.expired)
        case 4: .done(.failed(reader.text()))
        case 5: .notOwned
        case 6: .done(.withheld)
        case 7: .done(.crowded)
        default: nil
        }
    }

    private static func cancellation(_ reader: inout ByteReader) -> Cancellation? {
        switch reader.byte() {
        case 0: .cancelled(CancelCounts(sent: reader.varint(), cancelled: reader.varint()))
        case 1: .tooLate
        case 2: .unknown
        case 3: .failed(reader.text())
        case 4: .cancelled(.ofActivities(sent: reader.varint(), cancelled: reader.varint()))
        default: nil
        }
    }

    private static func receipt(_ reader: inout ByteReader) -> ReceiptIntake? {
        switch reader.byte() {
        case 0: .stored(reader.varint())
        case 1: .duplicate
        case 2: .failed(reader.text())
        default: nil
        }
    }
}
