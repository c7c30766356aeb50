package import PushModel
import PushTime

/// The binary form of a message in the ledger until its deliveries have ended, and between the nodes of a cluster.
///
///     flags u8, type u8, priority u8, [word, default priority u8], [kind u8, [activity u8, [activity type]]], id, [expires], [not before], [collapse id], [traceparent], audience, payload, [wording], [preferred], [turn]
package enum MessageRecord {
    private static let expires: UInt8 = 1 << 0
    private static let notBefore: UInt8 = 1 << 1
    private static let collapses: UInt8 = 1 << 2
    private static let traced: UInt8 = 1 << 3
    private static let needsClaim: UInt8 = 1 << 4
    private static let drops: UInt8 = 1 << 5
    private static let hasWord: UInt8 = 1 << 6
    private static let hasKind: UInt8 = 1 << 7
    /// A bit of the byte of the priority, which earlier versions do not take. A message with it has a ``Wording``.
    private static let isWorded: UInt8 = 1 << 6
    /// Another bit of that byte. A message with it has preferred apps.
    private static let hasPreferred: UInt8 = 1 << 5
    /// Another one. A message with it has a ``LocalTurn``.
    private static let hasTurn: UInt8 = 1 << 4

    package static func append(_ message: Message, to audience: Audience, needsClaim: Bool, _ bytes: inout [UInt8]) {
        var flags: UInt8 = 0
        if message.expiry != .unlimited { flags |= expires }
        if message.notBefore != nil { flags |= notBefore }
        if message.collapseID != nil { flags |= collapses }
        if message.traceparent != nil { flags |= traced }
        if needsClaim { flags |= Self.needsClaim }
        if message.onUnknown == .drop { flags |= drops }
        let isEarly = isEarly(message.type)
        if !isEarly { flags |= hasWord }
        if message.kind != .alert { flags |= hasKind }
        bytes.append(flags)
        bytes.append(message.type.number)
        bytes.append(
            message.priority.rawValue | (message.wording == nil ? 0 : isWorded)
                | (message.preferred.isEmpty ? 0 : hasPreferred) | (message.turn == nil ? 0 : hasTurn))
        if !isEarly {
            bytes.appendText(message.type.word)
            bytes.append(message.type.defaultPriority.rawValue)
        }
        if message.kind != .alert { append(message.kind, message.activity, &bytes) }
        bytes.appendText(message.id.text)
        if let time = message.expiry.expiresAt { bytes.appendSigned(time) }
        if let time = message.notBefore { bytes.appendSigned(time.value) }
        if let id = message.collapseID { bytes.appendText(id.text) }
        if let trace = message.traceparent { bytes.appendText(trace) }
        append(audience, &bytes)
        bytes.appendBytes(message.payload)
        if let wording = message.wording { append(wording, to: &bytes) }
        if !message.preferred.isEmpty { append(message.preferred, to: &bytes) }
        if let turn = message.turn { append(turn, to: &bytes) }
    }

    package struct Read {
        package let message: Message
        package let audience: Audience
        package let needsClaim: Bool
    }

    /// Reads a message. Returns nil if the bytes are damaged.
    package static func read(_ reader: inout ByteReader, app: AppID) -> Read? {
        let flags = reader.byte()
        let number = reader.byte()
        let urgency = reader.byte()
        guard let priority = PushPriority(rawValue: urgency & ~(isWorded | hasPreferred | hasTurn)),
            let type = type(number, hasWord: flags & hasWord != 0, &reader),
            let (stated, activity) = flags & hasKind != 0 ? kind(&reader) : (.alert, nil),
            let id = MessageID(accepted: reader.text())
        else { return nil }
        let expiresAt = flags & expires != 0 ? reader.signed() : nil
        let notBefore = flags & notBefore != 0 ? UnixSeconds(reader.signed()) : nil
        let collapseID = flags & collapses != 0 ? CollapseID(reader.text()) : nil
        let traceparent = flags & traced != 0 ? reader.text() : nil
        guard let audience = readAudience(&reader) else { return nil }
        let payload = reader.blob()
        var wording: Wording?
        if urgency & isWorded != 0 {
            guard let read = readWording(&reader, payload: payload, audience: audience) else { return nil }
            wording = read
        }
        var preferred: [PreferredApp] = []
        if urgency & hasPreferred != 0 {
            guard let read = readPreferred(&reader) else { return nil }
            preferred = read
        }
        var turn: LocalTurn?
        if urgency & hasTurn != 0 {
            guard notBefore != nil, let read = readTurn(&reader) else { return nil }
            turn = read
        }
        if reader.isBroken { return nil }
        // Before records had kinds, messages went to all addresses that were named, and to those without a stated kind.
        let kind = flags & hasKind == 0 && !audience.isDynamic && isEarly(type) ? earlyKinds[Int(type.number)] : stated
        let message = Message(
            id: id, app: app, type: type, kind: kind, priority: priority,
            expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapseID, payload: payload, activity: activity, wording: wording,
            preferred: preferred, onUnknown: flags & drops != 0 ? .drop : .resend,
            notBefore: notBefore, turn: turn, traceparent: traceparent)
        return Read(message: message, audience: audience, needsClaim: flags & needsClaim != 0)
    }

    // MARK: Types

    /// The types that records had before they had words. Their numbers stay, so that these records can be read.
    private static let earlyTypes: [MessageType] = [
        .alert, MessageType(1, word: "background", defaultPriority: .five), MessageType(2, word: "voip"),
        MessageType(3, word: "complication"), MessageType(4, word: "fileprovider"), MessageType(5, word: "mdm"),
        MessageType(6, word: "location"), MessageType(7, word: "liveactivity"), MessageType(8, word: "pushtotalk"),
        MessageType(9, word: "widgets"), MessageType(10, word: "controls"),
    ]

    /// The kinds of the addresses of these types. Records of them have a kind now, unless it is ``AddressKind/alert``.
    private static let earlyKinds: [AddressKind] = [
        .alert, .alert, .voip, .complication, .fileprovider, .alert, .location, .activity, .pushtotalk, .widget,
        .control,
    ]

    /// Whether a record needs no word for the type. Another push service may give the same number to a type of its own.
    private static func isEarly(_ type: MessageType) -> Bool {
        type.number < earlyTypes.count && type == earlyTypes[Int(type.number)]
    }

    private static func type(_ number: UInt8, hasWord: Bool, _ reader: inout ByteReader) -> MessageType? {
        guard hasWord else { return number < earlyTypes.count ? earlyTypes[Int(number)] : nil }
        let word = reader.text()
        return PushPriority(rawValue: reader.byte()).map { MessageType(number, word: word, defaultPriority: $0) }
    }

    // MARK: Kinds and activities

    /// In the byte of the kind: what the message does with Live Activities follows.
    private static let hasActivity: UInt8 = 1 << 7
    private static let isStamped: UInt8 = 1 << 6
    private static let hasActivityType: UInt8 = 1 << 7

    /// Messages with an activity are for addresses of a kind of their own.
    private static func append(_ kind: AddressKind, _ activity: ActivityPart?, _ bytes: inout [UInt8]) {
        guard let activity else { return bytes.append(kind.number) }
        bytes.append(kind.number | hasActivity)
        bytes.append(
            activity.event.rawValue | (activity.isStamped ? isStamped : 0)
                | (activity.type == nil ? 0 : hasActivityType))
        if let type = activity.type { bytes.appendText(type) }
    }

    private static func kind(_ reader: inout ByteReader) -> (AddressKind, ActivityPart?)? {
        let byte = reader.byte()
        guard let kind = AddressKind(number: byte & ~hasActivity) else { return nil }
        guard byte & hasActivity != 0 else { return (kind, nil) }
        let part = reader.byte()
        guard let event = ActivityPart.Event(rawValue: part & ~(isStamped | hasActivityType)) else { return nil }
        let type = part & hasActivityType != 0 ? reader.text() : nil
        return (kind, ActivityPart(event, type: type, isStamped: part & isStamped != 0))
    }

    // MARK: Audiences

    private static func append(_ audience: Audience, _ bytes: inout [UInt8]) {
        switch audience {
        case .tokens(let tokens):
            bytes.append(0)
            bytes.appendVarint(UInt64(tokens.count))
            for token in tokens {
                bytes.appendVarint(UInt64(token.storedByteCount))
                token.appendStored(to: &bytes)
            }
        case .devices(let devices):
            bytes.append(1)
            bytes.appendVarint(UInt64(devices.count))
            for device in devices {
                bytes.appendWord(device.high)
                bytes.appendWord(device.low)
            }
        case .users(let users):
            bytes.append(2)
            bytes.appendVarint(UInt64(users.count))
            for user in users { bytes.appendText(user) }
        case .tags(let expression):
            bytes.append(3)
            append(expression, &bytes)
        case .everyone:
            bytes.append(4)
        case .activities(let names):
            bytes.append(5)
            bytes.appendVarint(UInt64(names.count))
            for name in names { bytes.appendText(name) }
        }
    }

    private static func readAudience(_ reader: inout ByteReader) -> Audience? {
        let kind = reader.byte()
        switch kind {
        case 0:
            guard let count = count(&reader) else { return nil }
            var tokens: [Address] = []
            tokens.reserveCapacity(count)
            for _ in 0..<count {
                guard let token = token(&reader) else { return nil }
                tokens.append(token)
            }
            return .tokens(tokens)
        case 1:
            guard let count = count(&reader) else { return nil }
            return .devices((0..<count).map { _ in DeviceID(high: reader.word(), low: reader.word()) })
        case 2:
            guard let count = count(&reader) else { return nil }
            return .users((0..<count).map { _ in reader.text() })
        case 3: return tags(&reader, depth: 0).map { .tags($0) }
        case 4: return .everyone
        case 5:
            guard let count = count(&reader) else { return nil }
            return .activities((0..<count).map { _ in reader.text() })
        default: return nil
        }
    }

    /// Reads a count. Returns nil if it is larger than producers may name, so that a damaged count does not allocate
    /// memory.
    private static func count(_ reader: inout ByteReader) -> Int? {
        let count = reader.varint()
        return count <= UInt64(Audience.maxNames) ? Int(count) : nil
    }

    private static func token(_ reader: inout ByteReader) -> Address? {
        // Earlier versions wrote one byte, which is the same for up to 127.
        let length = reader.varint()
        if length == 32 {
            return Address(
                storedWords: (
                    reader.word().byteSwapped, reader.word().byteSwapped, reader.word().byteSwapped,
                    reader.word().byteSwapped
                ))
        }
        guard length <= UInt64(Address.maxStoredLength) else { return nil }
        return Address(storedBytes: (0..<length).map { _ in reader.byte() })
    }

    private static func append(_ expression: TagExpression, _ bytes: inout [UInt8]) {
        switch expression {
        case .tag(let tag):
            bytes.append(0)
            bytes.appendText(tag)
        case .all(let parts), .any(let parts):
            if case .all = expression { bytes.append(1) } else { bytes.append(2) }
            bytes.appendVarint(UInt64(parts.count))
            for part in parts { append(part, &bytes) }
        case .not(let part):
            bytes.append(3)
            append(part, &bytes)
        }
    }

    private static func tags(_ reader: inout ByteReader, depth: Int) -> TagExpression? {
        guard depth <= TagExpression.maxDepth else { return nil }
        let kind = reader.byte()
        switch kind {
        case 0: return .tag(reader.text())
        case 1, 2:
            guard let count = count(&reader) else { return nil }
            var parts: [TagExpression] = []
            for _ in 0..<count {
                guard let part = tags(&reader, depth: depth + 1), !reader.isBroken else { return nil }
                parts.append(part)
            }
            return kind == 1 ? .all(parts) : .any(parts)
        case 3: return tags(&reader, depth: depth + 1).map { .not($0) }
        default: return nil
        }
    }
}
