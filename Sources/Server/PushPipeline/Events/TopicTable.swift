import PushLoop
import PushModel
import PushWire

/// The known topics, and for each the lines of its next message.
struct TopicTable {
    private struct Topic {
        let name: [UInt8]
        var isWanted: Bool
        var lines: [UInt8] = []
        var count = 0
    }

    /// The last event of a topic in one part of the log, and when it was handed in; 0 and nil if the part has no event of
    /// the topic, or if it occurred only in a replay.
    private struct Last {
        var number: UInt64 = 0
        var at: MonotonicTime?
    }

    private var topics: [Topic] = []
    /// By part of the log, the last events by topic. A topic that was found after the last event of a part is missing.
    private var lasts: [[Last]] = []
    private var appNumbers: [AppID?: Int] = [:]
    /// The topic's index by app number and kind, with 256 kinds for each app; -1 for a topic that is not known yet.
    private var numbers: [Int32] = []
    private var text = EventText()
    /// The topics that have lines to send.
    private var gathered: [Int] = []
    /// Empty arrays with capacity, which topics share so that not every topic keeps its own.
    private var spare: [[UInt8]] = []

    private let messageBytes: Int
    private let messageLines: Int

    private static let kinds = 256
    private static let spareLimit = 64

    init(messageBytes: Int, messageLines: Int) {
        self.messageBytes = messageBytes
        self.messageLines = messageLines
    }

    /// Sets which known topics are rendered. New topics are checked when they first occur.
    mutating func choose(_ prefixes: SubscribedPrefixes) {
        for index in topics.indices { topics[index].isWanted = prefixes.wants(topics[index].name) }
    }

    // MARK: Publishing

    /// Renders the wanted events of a segment. Full messages are sent at once, the others by ``finish(emit:)``.
    ///
    /// This function runs for each event, so it and its callees are inlined as far as possible.
    mutating func add(
        _ segment: LogSegment, _ prefixes: SubscribedPrefixes, now: MonotonicTime,
        emit: (_ topic: [UInt8], _ lines: [UInt8], _ count: Int) -> Void
    ) throws(DamagedSegment) {
        var apps: [Int] = []
        // A segment is of one part. Its row is moved out, so that it is not looked up for each event.
        let part = row(of: segment.first)
        var lasts: [Last] = []
        swap(&lasts, &self.lasts[part])
        defer { swap(&lasts, &self.lasts[part]) }
        unsafe try segment.walk { event, names, bytes in
            let number = topic(of: event, names, &apps, prefixes)
            if number >= lasts.count { Self.extend(&lasts, to: topics.count) }
            lasts[number] = Last(number: event.seq, at: now)
            guard topics[number].isWanted else { return true }
            if topics[number].count == 0 {
                gathered.append(number)
                if let room = spare.popLast() { topics[number].lines = room }
            } else {
                topics[number].lines.append(UInt8(ascii: "\n"))
            }
            unsafe text.append(event, of: names, texts: bytes, to: &topics[number].lines)
            topics[number].count += 1
            if topics[number].count == messageLines || topics[number].lines.count >= messageBytes {
                emit(topics[number].name, topics[number].lines, topics[number].count)
                topics[number].lines.removeAll(keepingCapacity: true)
                topics[number].count = 0
                // The topic is added to `gathered` again with its next line.
                giveBack(number)
            }
            return true
        }
    }

    /// Sends the messages that are not full yet.
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

    // MARK: Last numbers

    /// Returns the index in ``lasts`` for the part of a number.
    private mutating func row(of number: UInt64) -> Int {
        let part = EventNumber.shown(number).part
        while lasts.count <= part { lasts.append([]) }
        return part
    }

    @inline(never)
    private static func extend(_ lasts: inout [Last], to count: Int) {
        lasts.append(contentsOf: repeatElement(Last(), count: count - lasts.count))
    }

    /// Records the last number of a topic at the time when its part was opened.
    mutating func note(
        _ kind: EventKind, _ app: AppID?, last: UInt64, at time: MonotonicTime, _ prefixes: SubscribedPrefixes
    ) {
        let number = topic(kind, appNumber(app), app) { prefixes.wants($0) }
        let part = row(of: last)
        if number >= lasts[part].count { Self.extend(&lasts[part], to: topics.count) }
        lasts[part][number] = Last(number: max(lasts[part][number].number, last), at: time)
    }

    /// Forgets the last numbers of a part.
    mutating func forget(part: Int) {
        if part < lasts.count { lasts[part] = [] }
    }

    /// Appends the last number of each topic of a part with events since `time`, as `{"delivery/shop/sent":17,…}`.
    func appendLasts(ofPart part: Int, since time: MonotonicTime, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "{"))
        var isFirst = true
        for (number, last) in (part < lasts.count ? lasts[part] : []).enumerated() {
            guard let at = last.at, at >= time else { continue }
            if !isFirst { line.append(UInt8(ascii: ",")) }
            isFirst = false
            // Topics contain no characters that need an escape.
            line.append(UInt8(ascii: "\""))
            line.append(contentsOf: topics[number].name)
            line.append(contentsOf: "\":".utf8)
            DecimalText.append(EventNumber.shown(last.number).number, to: &line)
        }
        line.append(UInt8(ascii: "}"))
    }

    // MARK: Replaying

    /// Renders the events of a segment that are numbered above `since` and match the prefix of the request. Returns the
    /// last number examined: the segment's last, unless the request has reached its limit before.
    mutating func select(
        _ segment: LogSegment, since: UInt64, _ prefixes: SubscribedPrefixes, into selection: inout ReplaySelection
    ) throws(DamagedSegment) -> UInt64 {
        var apps: [Int] = []
        var looked = max(since, segment.last)
        unsafe try segment.walk(since: since) { event, names, bytes in
            let number = topic(of: event, names, &apps, prefixes)
            guard selection.matches(number, name: topics[number].name) else { return true }
            selection.begin(number, name: topics[number].name, messageBytes, messageLines)
            unsafe text.append(event, of: names, texts: bytes, to: &selection.lines)
            selection.left -= 1
            if selection.left == 0 {
                looked = event.seq
                return false
            }
            return true
        }
        return looked
    }

    // MARK: Topic numbers

    /// Returns the index of the event's topic. `apps` caches the app numbers of the segment's apps by their index in
    /// the segment.
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

/// The events that a replay selects from one page: messages in the order of their numbers, each a run of one topic.
struct ReplaySelection {
    struct Packed {
        let topic: [UInt8]
        let lines: [UInt8]
    }

    private let prefix: [UInt8]
    /// The number of events that the request may still receive.
    var left: Int
    private(set) var packed: [Packed] = []
    /// The lines of the current run.
    fileprivate(set) var lines: [UInt8] = []
    private var topic: Int?
    private var name: [UInt8] = []
    private var count = 0
    /// Whether a topic matches, by topic number: 0 not checked yet, 1 yes, 2 no.
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

    /// Prepares `lines` for another line of a topic.
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

    /// Returns the messages that were packed since the last call.
    mutating func take() -> [Packed] {
        endRun()
        defer { packed = [] }
        return packed
    }
}
