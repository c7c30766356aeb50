import PushLogic
import PushModel
import PushTime
import PushWire

/// Collects accepted messages for one row of the table `messages`.
struct MessageRowBuilder {
    let first: UInt64
    private(set) var count = 0
    private(set) var heads: [UInt8] = []
    private(set) var bodies: [UInt8] = []
    private(set) var apps: [AppID] = []
    private var claims: [Bool] = []

    static let headSize = 8
    private static let usualSize = 256
    private static let bodiesLimit = 2 << 20
    private static let countLimit = 16_384
    /// The limit keeps the search for a message's app short.
    private static let appLimit = 128

    /// - Parameter expected: The number of messages for which there is room without further allocations.
    init(first: UInt64, expecting expected: Int = 0) {
        self.first = first
        let expected = min(expected, 1024)
        guard expected > 0 else { return }
        heads.reserveCapacity(Self.headSize * expected)
        bodies.reserveCapacity(Self.usualSize * expected)
        claims.reserveCapacity(expected)
    }

    var isFull: Bool { bodies.count >= Self.bodiesLimit || count >= Self.countLimit || apps.count >= Self.appLimit }

    mutating func add(_ request: PushRequest, _ seq: UInt64, needsClaim: Bool) {
        // The numbers in between belong to scheduled messages, which have a table of their own.
        while first + UInt64(count) < seq {
            heads.appendWord(UInt64(UInt32.max))
            claims.append(false)
            count += 1
        }
        let message = request.message
        let app = place(of: message.app)
        let lane = Lane(of: message, to: request.audience)
        heads.appendWord(
            UInt64(bodies.count) | UInt64(lane.priority.rawValue) << 32 | (lane.isBroad ? 1 << 40 : 0)
                | (lane.isOfActivities ? 1 << 41 : 0) | UInt64(app) << 48)
        claims.append(needsClaim)
        count += 1
        MessageRecord.append(message, to: request.audience, needsClaim: needsClaim, &bodies)
    }

    private mutating func place(of app: AppID) -> Int {
        if let last = apps.last, last == app { return apps.count - 1 }
        if let known = apps.firstIndex(of: app) { return known }
        apps.append(app)
        return apps.count - 1
    }

    /// Returns what `PendingMessages` keeps of this row once it is committed.
    func finished() -> PendingMessages.Segment {
        var segment = PendingMessages.Segment(first: first, count: count)
        for index in 0..<count where !isElsewhere(index) { segment.add(index, claims: claims[index]) }
        return segment
    }

    private func isElsewhere(_ index: Int) -> Bool {
        unsafe heads.withUnsafeBytes { unsafe MessageHead($0, at: index) == nil }
    }
}

/// The position and lane of one message in a row.
struct MessageHead {
    let offset: Int
    private let priority: PushPriority
    private let isBroad: Bool
    private let isOfActivities: Bool
    let app: Int

    /// What tells the lanes of an app apart, as one value.
    var lane: Int { Int(priority.rawValue) | (isBroad ? 1 << 8 : 0) | (isOfActivities ? 1 << 9 : 0) }

    func lane(of app: AppID) -> Lane {
        isOfActivities ? Lane(activitiesOf: app) : Lane(app: app, priority: priority, isBroad: isBroad)
    }

    /// Creates a head from its 8 bytes. Returns nil if the number belongs to a scheduled message or the bytes are
    /// invalid.
    init?(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        let word = unsafe bytes.word(at: index * MessageRowBuilder.headSize)
        guard UInt32(truncatingIfNeeded: word) != .max,
            let priority = PushPriority(rawValue: UInt8(truncatingIfNeeded: word >> 32))
        else { return nil }
        offset = Int(UInt32(truncatingIfNeeded: word))
        self.priority = priority
        isBroad = word >> 40 & 1 == 1
        isOfActivities = word >> 41 & 1 == 1
        app = Int(word >> 48)
    }
}

/// A row of the table `messages`, as read from disk.
struct MessageRow {
    let first: UInt64
    let count: Int
    let time: WallTime
    let apps: [AppID]
    var heads: [UInt8]
    var bodies: [UInt8]
    /// The checksums of the messages (``MessageChecksum``); nil in a row without.
    var sums: [UInt8]?

    func covers(_ seq: UInt64) -> Bool {
        seq >= first && seq - first < UInt64(min(count, heads.count / MessageRowBuilder.headSize))
    }

    /// Returns a message of this row, or nil if it is damaged or is not in this row.
    func message(_ seq: UInt64) -> MessageRecord.Read? {
        guard covers(seq) else { return nil }
        let index = Int(seq - first)
        guard let head = unsafe heads.withUnsafeBytes({ unsafe MessageHead($0, at: index) }), head.app < apps.count,
            head.offset < bodies.count
        else { return nil }
        let app = apps[head.app]
        return unsafe bodies.withUnsafeBytes { bytes in
            var reader = unsafe ByteReader(bytes, at: head.offset)
            guard let message = MessageRecord.read(&reader, app: app) else { return nil }
            let record = unsafe UnsafeRawBufferPointer(rebasing: bytes[head.offset..<reader.offset])
            return unsafe isSound(record, at: index, head) ? message : nil
        }
    }

    static func apps(_ names: String) -> [AppID] { names.split(separator: "\n").compactMap { AppID(String($0)) } }
}
