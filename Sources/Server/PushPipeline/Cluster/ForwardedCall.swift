import PushModel
import PushWire

/// The binary form of a call that one node passes to another: the body of `cluster-accept/1`, `cluster-cancel/1` and
/// `cluster-receipt/1`.
enum ForwardedCall {
    private static let isAgain: UInt8 = 1
    private static let hasClient: UInt8 = 2
    /// The request before it is to a member of the same family.
    private static let isJoined: UInt8 = 4
    /// The request to cancel names the parts whose messages it concerns.
    private static let hasParts: UInt8 = 8

    // MARK: Requests

    /// Appends a request. What only the ack of the producer needs stays with the node that sends the ack.
    static func append(_ request: PushRequest, to bytes: inout [UInt8]) {
        bytes.append(
            (request.again ? isAgain : 0) | (request.client == nil ? 0 : hasClient)
                | (request.isJoined ? isJoined : 0))
        bytes.appendText(request.message.app.name)
        if let client = request.client { bytes.appendText(client) }
        MessageRecord.append(request.message, to: request.audience, needsClaim: false, &bytes)
    }

    /// Reads requests up to the end of the bytes; nil if they are invalid.
    static func requests(_ bytes: UnsafeRawBufferPointer) -> [PushRequest]? {
        var reader = unsafe ByteReader(bytes)
        var requests: [PushRequest] = []
        while !reader.isAtEnd {
            let flags = reader.byte()
            guard flags & ~(isAgain | hasClient | isJoined) == 0, flags & isJoined == 0 || !requests.isEmpty,
                let app = AppID(reader.text())
            else { return nil }
            let client = flags & hasClient != 0 ? reader.text() : nil
            guard let record = MessageRecord.read(&reader, app: app), !reader.isBroken else { return nil }
            var request = PushRequest(record.message, to: record.audience, again: flags & isAgain != 0)
            request.client = client
            request.isJoined = flags & isJoined != 0
            requests.append(request)
        }
        return reader.isBroken || requests.isEmpty ? nil : requests
    }

    // MARK: Cancellations

    static func bytes(_ requests: [CancelRequest]) -> [UInt8] {
        var bytes: [UInt8] = []
        for request in requests {
            bytes.append((request.client == nil ? 0 : hasClient) | (request.parts == nil ? 0 : hasParts))
            bytes.appendText(request.app.name)
            bytes.appendText(request.id.text)
            if let client = request.client { bytes.appendText(client) }
            guard let parts = request.parts else { continue }
            bytes.appendVarint(UInt64(parts.count))
            for part in parts { bytes.appendVarint(UInt64(part)) }
        }
        return bytes
    }

    /// Reads the requests to cancel one id, up to the end of the bytes; nil if they are invalid.
    static func cancellations(_ bytes: UnsafeRawBufferPointer) -> [CancelRequest]? {
        var reader = unsafe ByteReader(bytes)
        var requests: [CancelRequest] = []
        while !reader.isAtEnd {
            let flags = reader.byte()
            guard flags & ~(hasClient | hasParts) == 0, requests.count < Family.maxMembers,
                let app = AppID(reader.text()),
                let id = MessageID(accepted: reader.text()), requests.first.map({ $0.id == id }) ?? true
            else { return nil }
            var request = CancelRequest(id, of: app, by: flags & hasClient != 0 ? reader.text() : nil)
            if flags & hasParts != 0 {
                guard let parts = parts(&reader) else { return nil }
                request = request.within(parts)
            }
            guard !reader.isBroken, request.parts == requests.first?.parts ?? request.parts else { return nil }
            requests.append(request)
        }
        return reader.isBroken || requests.isEmpty ? nil : requests
    }

    private static func parts(_ reader: inout ByteReader) -> [Int]? {
        let count = reader.varint()
        guard (1...UInt64(PartitionID.maxCount)).contains(count) else { return nil }
        var parts: [Int] = []
        for _ in 0..<count {
            guard let number = Int(exactly: reader.varint()), PartitionID(number) != nil, !reader.isBroken
            else { return nil }
            parts.append(number)
        }
        return parts
    }

    // MARK: Receipts

    static func bytes(_ receipt: ReceivedReceipt) -> [UInt8] {
        let event = receipt.event
        var bytes: [UInt8] = [event.kind.rawValue]
        bytes.appendText(receipt.app.name)
        bytes.appendText(receipt.id)
        bytes.appendText(event.messageID?.text ?? "")
        bytes.appendText(event.reason ?? "")
        bytes.appendVarint(UInt64(event.details.count))
        for detail in event.details {
            bytes.appendText(detail.name.text)
            switch detail.value {
            case .text(let text):
                bytes.append(0)
                bytes.appendText(text)
            case .number(let number):
                bytes.append(1)
                bytes.appendSigned(number)
            case .flag(let flag): bytes.append(flag ? 3 : 2)
            case .numbers(let numbers):
                bytes.append(4)
                bytes.appendVarint(UInt64(numbers.count))
                for (name, number) in numbers {
                    bytes.appendText(name)
                    bytes.appendSigned(number)
                }
            }
        }
        return bytes
    }

    static func receipt(_ bytes: UnsafeRawBufferPointer) -> ReceivedReceipt? {
        var reader = unsafe ByteReader(bytes)
        guard let kind = EventKind(rawValue: reader.byte()), let app = AppID(reader.text()) else { return nil }
        let id = reader.text()
        var event = EventDraft(kind, app: app)
        event.messageID = MessageID(accepted: reader.text())
        let reason = reader.text()
        event.reason = reason.isEmpty ? nil : reason
        let count = reader.varint()
        while !reader.isBroken, event.details.count < count {
            let name = StaticName(received: reader.text())
            guard let value = detail(&reader), !reader.isBroken else { return nil }
            event.details.append(EventDraft.Detail(name, value: value))
        }
        return reader.isBroken || !reader.isAtEnd ? nil : ReceivedReceipt(event, id: id, app: app)
    }

    private static func detail(_ reader: inout ByteReader) -> EventDraft.Detail.Value? {
        switch reader.byte() {
        case 0: return .text(reader.text())
        case 1: return .number(reader.signed())
        case 2: return .flag(false)
        case 3: return .flag(true)
        case 4:
            var numbers: [String: Int64] = [:]
            var left = reader.varint()
            while left > 0 {
                let name = reader.text()
                numbers[name] = reader.signed()
                if reader.isBroken { return nil }
                left -= 1
            }
            return .numbers(numbers)
        default: return nil
        }
    }
}
