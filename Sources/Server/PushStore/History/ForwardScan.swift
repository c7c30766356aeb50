import PushModel
import PushTime
import PushWire

/// The state of one reading of events in the order of their numbers, part after part.
struct ForwardScan {
    typealias Line = (time: WallTime, text: [UInt8])

    var found: EventReader.Found
    private var filter: EventReader.TopicFilter
    private let span: EventReader.Span
    private var text = EventText()
    /// The number of events that were examined.
    private(set) var scanned = 0
    /// The number of lines that were found.
    private(set) var count = 0
    /// The number of lines at which the reading of this part ends.
    private var end = 0
    /// The lines by part, each in the order of its numbers.
    private var runs: [[Line]] = []
    /// The index of the part's run, by part.
    private var places: [Int: Int] = [:]
    private var run = 0
    private var part = 0

    init(found: EventReader.Found, filter: EventReader.TopicFilter, span: EventReader.Span) {
        self.found = found
        self.filter = filter
        self.span = span
    }

    /// Begins or continues to read a part, up to so many lines.
    mutating func begin(part: Int, limit: Int) {
        end = count + limit
        self.part = part
        run = places[part] ?? runs.count
        if run == runs.count {
            runs.append([])
            places[part] = run
        }
    }

    /// Adds the events of a segment after `at`, and moves `at`. Returns whether the part may have more for this reading.
    mutating func add(_ segment: LogSegment, _ at: inout UInt64) -> Bool {
        filter.segmentBegins()
        let start = at
        var isPastEnd = false
        do {
            try segment.entries(since: start) { entry in
                let event = entry.event
                if count >= end || found.bytes >= EventReader.maxBytes {
                    found.hasMore = true
                    return false
                }
                if event.time > span.until {
                    isPastEnd = true
                    return false
                }
                at = event.seq
                if event.time >= span.since, filter.takes(entry) {
                    let line = entry.line(&text)
                    found.bytes += line.count
                    runs[run].append((event.time, line))
                    count += 1
                }
                return true
            }
        } catch {
            found.damaged.append(segment.first)
            at = segment.last
        }
        if isPastEnd { at = max(at, found.bounds[part].newest) }
        if found.hasMore || isPastEnd { return false }
        scanned += Int(at - start)
        return true
    }

    /// Returns what was found.
    consuming func finish() -> EventReader.Found {
        found.lines = Self.merged(runs)
        return found
    }

    /// Merges lines by their times. The lines of each run keep their order.
    static func merged(_ runs: [[Line]]) -> [[UInt8]] {
        if runs.count == 1 { return runs[0].map(\.text) }
        var places = runs.map { _ in 0 }
        var open = runs.indices.filter { !runs[$0].isEmpty }
        var lines: [[UInt8]] = []
        while let first = open.min(by: { runs[$0][places[$0]].time < runs[$1][places[$1]].time }) {
            lines.append(runs[first][places[first]].text)
            places[first] += 1
            if places[first] == runs[first].count { open.removeAll { $0 == first } }
        }
        return lines
    }
}
