import PushModel
import PushWire

/// How far a replay has read in each of its parts.
struct ReplayProgress {
    /// The parts that are left to read, in reverse order: the next one is at the end.
    private var left: [Int]
    /// Whether the request and its answer name one part with a number.
    private let isNumber: Bool
    private let isOnly: Bool
    private let first: Int
    /// The place after what was read.
    private var next: LogPosition
    private var oldest = LogPosition()

    /// Whether the bounds of all parts are needed first.
    let needsBounds: Bool

    init(_ since: ReplayRequest.Since, in log: any EventLog) {
        isOnly = log.partCount == 1
        switch since {
        case .number(let number, let part):
            next = LogPosition()
            next[part] = number
            isNumber = true
            first = part
            left = [part]
            needsBounds = false
        case .place(let place):
            // A place in a larger log is as good as one in this log.
            next = LogPosition()
            for (part, number) in place.parts where part < log.partCount { next[part] = number }
            isNumber = false
            first = 0
            left = (0..<log.partCount).reversed()
            needsBounds = !isOnly
        }
    }

    /// The part that a request names and a log does not have.
    static func unknown(_ since: ReplayRequest.Since, in log: any EventLog) -> Int? {
        if case .number(_, let part) = since, part >= log.partCount { return part }
        return nil
    }

    /// Leaves out the parts that have nothing new.
    mutating func take(_ bounds: [LogBounds]) {
        left.removeAll { part in
            guard part < bounds.count else { return true }
            let newest = EventNumber.within(bounds[part].newest)
            if newest > 0 { oldest[part] = EventNumber.within(bounds[part].oldest) }
            guard newest <= next[part] else { return false }
            next[part] = newest
            return true
        }
    }

    /// Returns the next part, and the number after which it is read.
    mutating func begin(in log: any EventLog) -> (part: Int, at: UInt64)? {
        left.popLast().map { ($0, log.number(of: $0, at: next)) }
    }

    /// Records how far a part was read, and the oldest number that was stored then.
    mutating func reached(_ number: UInt64, oldest stored: UInt64, ofPart part: Int) {
        next[part] = isOnly ? number : EventNumber.within(number)
        oldest[part] = isOnly ? stored : EventNumber.within(stored)
    }

    var end: [UInt8] {
        isNumber
            ? ReplayAnswer.end(next: next[first], oldest: oldest[first])
            : ReplayAnswer.end(next: next, oldest: oldest)
    }

    func damaged(_ detail: String) -> [UInt8] {
        isNumber
            ? ReplayAnswer.error("damaged", detail: detail, next: next[first])
            : ReplayAnswer.error("damaged", detail: detail, nextPlace: next)
    }
}
