import PushLoop
import PushModel
import PushWire

/// The topics that have come up, and for each the lines that are to go out together.
struct TopicTable {
    private struct Topic {
        let name: [UInt8]
        var isWanted: Bool
        /// Its last number that was handed in, and when; 0 if it came up in a replay only.
        var last: UInt64 = 0
        var lastAt: MonotonicTime?
        var lines: [UInt8] = []
        var count = 0
    }

    private var topics: [Topic] = []
    private var appNumbers: [AppID?: Int] = [:]
    /// By app and kind, 128 kinds each: the topic's number, -1 for none yet.
    private var numbers: [Int32] = []
    private var text = EventText()
    /// Topics with lines that have not gone out.
    private var gathered: [Int] = []
    /// Empty, with room: so that not every topic keeps room of its own.
    private var spare: [[UInt8]] = []

    private let messageBytes: Int
    private let messageLines: Int

    private static let kinds = 128
    private static let spareLimit = 64

    init(messageBytes: Int, messageLines: Int) {
        self.messageBytes = messageBytes
        self.messageLines = messageLines
    }

    /// Which topics are rendered; later ones are asked about as they come up.
    mutating func choose(_ prefixes: SubscribedPrefixes) {
        for index in topics.indices { topics[index].isWanted = prefixes.wants(topics[index].name) }
    }

    // MARK: What is published

    /// Renders what is wanted of a segment. Messages that are full go out at once, the others by `finish`.
    ///
    /// Inlined by hand as far as it goes: this and what it calls is what each event costs.
    mutating func add(
        _ segment: LogSegment, _ prefixes: SubscribedPrefixes, now: MonotonicTime,
        emit: (_ topic: [UInt8], _ lines: [UInt8], _ count: Int) -> Void
    ) throws(DamagedSegment) {
        var apps: [Int] = []
        unsafe try segment.walk { event, names, bytes in
            let number = topic(of: event, names, &apps, prefixes)
            topics[number].last = event.seq
            topics[number].lastAt = now
            guard topics[number].isWanted else { return true }
            if topics[number].count == 0 {
                gathered.append(number)
                if let room = spare.popLast() { topics[number].lines = room }
            } else {
                topics[number].lines.append(UInt8(ascii: "\n"))
            }
            unsafe text.append(event, names, bytes, to: &topics[number].lines)
            topics[number].count += 1
            if topics[number].count == messageLines || topics[number].lines.count >= messageBytes {
                emit(topics[number].name, topics[number].lines, topics[number].count)
                topics[number].lines.removeAll(keepingCapacity: true)
                topics[number].count = 0
                // Another line of it gathers it again.
                giveBack(number)
            }
            return true
        }
    }

    /// Sends what has gathered.
    mutating func finish(emit: (_ topic: [UInt8], _ lines: [UInt8], _ count: Int) -> Void) {
        for number in gathered where topics[number].count > 0 {
            emit(topics[number].name, topics[number].lines, topics[number].count)
            topics[number].lines.removeAll(keepingCapacity: true)
            topics[number].count = 0
            giveBack(number)
        }
        gathered.removeAll(keepingCapacity: true)
    }

    private mutating func giveBack(_ number: Int) {
        var room: [UInt8] = []
        swap(&room, &topics[number].lines)
        if spare.count < Self.spareLimit { spare.append(room) }
    }

    /// A topic as it was when the ledger was opened.
    mutating func note(_ kind: EventKind, _ app: AppID?, last: UInt64, at time: MonotonicTime) {
        let number = topic(kind, appNumber(app), app) { _ in false }
        topics[number].last = max(topics[number].last, last)
        topics[number].lastAt = time
    }

    /// The last number of each topic that had events since `time`, as `{"delivery/shop/sent":17,…}`.
    func appendLasts(since time: MonotonicTime, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "{"))
        var isFirst = true
        for topic in topics {
            guard let at = topic.lastAt, at >= time else { continue }
            if !isFirst { line.append(UInt8(ascii: ",")) }
            isFirst = false
            // Nothing in a topic needs an escape.
            line.append(UInt8(ascii: "\""))
            line.append(contentsOf: topic.name)
            line.append(contentsOf: "\":".utf8)
            DecimalText.append(topic.last, to: &line)
        }
        line.append(UInt8(ascii: "}"))
    }

    // MARK: What is replayed

    /// Renders what of a segment, numbered above `since`, has the request's prefix. Returns the last number looked at;
    /// that is the segment's last, unless the request had enough before.
    mutating func select(
        _ segment: LogSegment, since: UInt64, _ prefixes: SubscribedPrefixes, into selection: inout ReplaySelection
    ) throws(DamagedSegment) -> UInt64 {
        var apps: [Int] = []
        var looked = max(since, segment.last)
        unsafe try segment.walk(since: since) { event, names, bytes in
            let number = topic(of: event, names, &apps, prefixes)
            guard selection.matches(number, name: topics[number].name) else { return true }
            selection.begin(number, name: topics[number].name, messageBytes, messageLines)
            unsafe text.append(event, names, bytes, to: &selection.lines)
            selection.left -= 1
            if selection.left == 0 {
                looked = event.seq
                return false
            }
            return true
        }
        return looked
    }

    // MARK: Numbers of topics

    /// `apps`: by place in the segment's list, the app's number here; filled as apps come up.
    @inline(__always)
    private mutating func topic(
        of event: LoggedEvent, _ names: [AppID], _ apps: inout [Int], _ prefixes: SubscribedPrefixes
    ) -> Int {
        var app = 0
        if let place = event.app {
            while apps.count <= place { apps.append(appNumber(names[apps.count])) }
            app = apps[place]
        } else {
            app = appNumber(nil)
        }
        let known = numbers[app * Self.kinds + Int(event.kind.rawValue)]
        if known >= 0 { return Int(known) }
        return topic(event.kind, app, event.app.map { names[$0] }) { prefixes.wants($0) }
    }

    private mutating func topic(
        _ kind: EventKind, _ app: Int, _ name: AppID?, isWanted: ([UInt8]) -> Bool
    ) -> Int {
        let place = app * Self.kinds + Int(kind.rawValue)
        if numbers[place] >= 0 { return Int(numbers[place]) }
        let name = Array(kind.topic(of: name).utf8)
        numbers[place] = Int32(topics.count)
        topics.append(Topic(name: name, isWanted: isWanted(name)))
        return topics.count - 1
    }

    private mutating func appNumber(_ app: AppID?) -> Int {
        if let number = appNumbers[app] { return number }
        let number = appNumbers.count
        appNumbers[app] = number
        numbers.append(contentsOf: repeatElement(-1, count: Self.kinds))
        return number
    }
}

/// What a replay takes out of one page: messages in the order of their numbers, each a run of one topic.
struct ReplaySelection {
    struct Packed {
        let topic: [UInt8]
        let lines: [UInt8]
    }

    private let prefix: [UInt8]
    /// How many events the request may still have.
    var left: Int
    private(set) var packed: [Packed] = []
    /// Of the run under way.
    fileprivate(set) var lines: [UInt8] = []
    private var topic: Int?
    private var name: [UInt8] = []
    private var count = 0
    /// By number of the topic: 0 not asked yet, 1 yes, 2 no.
    private var verdicts: [UInt8] = []

    init(prefix: [UInt8], limit: Int) {
        self.prefix = prefix
        left = limit
    }

    fileprivate mutating func matches(_ number: Int, name: @autoclosure () -> [UInt8]) -> Bool {
        while verdicts.count <= number { verdicts.append(0) }
        if verdicts[number] == 0 { verdicts[number] = name().starts(with: prefix) ? 1 : 2 }
        return verdicts[number] == 1
    }

    /// Makes `lines` ready for a line of a topic.
    fileprivate mutating func begin(_ number: Int, name: [UInt8], _ messageBytes: Int, _ messageLines: Int) {
        if topic == number, count < messageLines, lines.count < messageBytes {
            lines.append(UInt8(ascii: "\n"))
            count += 1
            return
        }
        endRun()
        topic = number
        self.name = name
        count = 1
    }

    private mutating func endRun() {
        guard topic != nil else { return }
        packed.append(Packed(topic: name, lines: lines))
        lines = []
        topic = nil
    }

    /// What has been packed since it was asked last.
    mutating func take() -> [Packed] {
        endRun()
        defer { packed = [] }
        return packed
    }
}
