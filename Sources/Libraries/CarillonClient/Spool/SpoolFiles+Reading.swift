import Glibc
import PushLoop

/// Reading the records, each once: first those of all apps in their order, except that those of a busy app are passed
/// over, and later those.
extension SpoolFiles {
    /// What one call may read, and has read.
    private struct Reading {
        struct Amounts {
            var records: Int
            var bytes: Int
            /// The bytes of records that were passed over.
            var passed: Int
        }

        /// The number of records that apps may still get for which Carillon has no room, or had none. Other apps are not
        /// limited.
        var room: [IDKey: Int]
        var page = Page()
        var read = Amounts(records: 0, bytes: 0, passed: 0)
        private let most: Amounts
        /// The amounts after which the next part of the call begins.
        private var limit: Amounts

        init(upTo records: Int, bytes: Int, room: [IDKey: Int]) {
            self.room = room
            most = Amounts(records: records, bytes: bytes, passed: bytes > .max / 4 ? .max : 4 * bytes)
            limit = most
        }

        var goesOn: Bool {
            read.records < limit.records && read.bytes < limit.bytes && read.passed < limit.passed
                && page.problem == nil
        }

        /// Begins one of several parts that are left, which gets that part of what may still be read.
        mutating func beginPart(of parts: Int) {
            func end(_ amount: KeyPath<Amounts, Int>) -> Int {
                let left = most[keyPath: amount] - read[keyPath: amount]
                return read[keyPath: amount] + (left > 0 ? (left - 1) / max(1, parts) + 1 : 0)
            }
            limit = Amounts(records: end(\.records), bytes: end(\.bytes), passed: end(\.passed))
        }
    }

    /// What follows from one record.
    private enum Step {
        case next
        /// The reading ends before it.
        case stop
        /// All records of the app that were passed over are read.
        case finish
    }

    /// Returns the next records that were not handed out. What is damaged counts as acknowledged: nothing else would
    /// ever end it.
    ///
    /// - Parameter room: The number of records that some apps may get. Their other ones are passed over.
    func read(upTo limit: Int, bytes maxBytes: Int, room: [IDKey: Int] = [:]) -> Page {
        state.withLock { state in
            var reading = Reading(upTo: limit, bytes: maxBytes, room: room)
            let waiting = state.parked.keys.filter { room[$0] ?? 1 > 0 }.shuffled()
            // A large backlog at one end does not hold up the other, and that of one app does not hold up other apps.
            reading.beginPart(of: waiting.isEmpty ? 1 : 2)
            let isBlocked = !read(nil, into: &reading, in: &state)
            for (index, app) in waiting.enumerated() {
                reading.beginPart(of: waiting.count - index)
                _ = read(app, into: &reading, in: &state)
            }
            if !reading.page.lost.isEmpty { storeCursor(in: &state) }
            reading.page.hasMore =
                !(isBlocked && state.parked.count >= Self.maxParked) && nextPlace(from: state.front, in: state) != nil
            reading.page.parked = Set(state.parked.keys)
            return reading.page
        }
    }

    /// The apps whose records were passed over.
    var parked: Set<IDKey> { state.withLock { Set($0.parked.keys) } }

    /// Takes back records that are not under way any more. They are read again later.
    func giveBack(_ numbers: [UInt64], of app: IDKey) {
        state.withLock { state in
            for number in numbers { state.machine.giveBack(number) }
            guard let least = numbers.min(), let first = state.machine.firstNumber(inFileOf: least) else { return }
            let place = Place(segment: first, offset: 0, number: first)
            if let parked = state.parked[app] {
                if first <= parked.segment { state.parked[app] = place }
            } else if state.parked.count < Self.maxParked {
                state.parked[app] = place
            } else if first <= state.front.segment {
                (state.front, state.expected) = (place, first)
            }
        }
    }

    /// Reads on: the records of all apps, or those of one that were passed over. Returns whether more can follow.
    private func read(_ app: IDKey?, into reading: inout Reading, in state: inout State) -> Bool {
        while reading.goesOn {
            guard let start = app.map({ state.parked[$0] }) ?? state.front else { return true }
            guard let place = nextPlace(from: start, in: state) else {
                if let app { state.parked[app] = nil }
                return true
            }
            switch readFile(at: place, of: app, into: &reading, in: &state) {
            case .next: break
            case .stop: return false
            case .finish:
                if let app { state.parked[app] = nil }
                return true
            }
        }
        return true
    }

    /// Returns the place of the next bytes from a place on; nil if there are none.
    private func nextPlace(from place: Place, in state: State) -> Place? {
        for segment in state.machine.segments where segment.first >= place.segment {
            let isAt = segment.first == place.segment
            let offset = isAt ? place.offset : 0
            if offset < segment.bytes {
                return Place(segment: segment.first, offset: offset, number: isAt ? place.number : segment.first)
            }
        }
        return nil
    }

    private func readFile(
        at place: Place, of app: IDKey?, into reading: inout Reading, in state: inout State
    ) -> Step {
        let path = SpoolFile.path(place.segment, in: settings.directory)
        guard let index = state.machine.segments.firstIndex(where: { $0.first == place.segment }) else { return .next }
        let segment = state.machine.segments[index]
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 || errno == ENOENT else {
            reading.page.problem = "\(path): \(SystemError.current)"
            return .next
        }
        defer { if descriptor >= 0 { Glibc.close(descriptor) } }
        let size = descriptor >= 0 ? min(segment.bytes, Int64(lseek(descriptor, 0, SEEK_END))) : 0
        var reader = SpoolReader(descriptor, from: place.offset, number: place.number, size: size)
        var (step, at) = (Step.next, place)
        while step == .next, at.offset < segment.bytes, reading.goesOn {
            switch reader.next() {
            case .record(let record):
                step =
                    app == nil
                    ? enter(record, at: at, into: &reading, in: &state)
                    : catchUp(record, of: app, into: &reading, in: &state)
            case .damaged: state.damaged.insert(place.segment)
            case .end where reader.offset >= segment.bytes: break
            case .broken, .gaveUp, .end:
                state.damaged.insert(place.segment)
                let end = segment.end ?? state.machine.next
                if app == nil { lose(upTo: end, into: &reading, in: &state) }
                reader.skip(to: segment.bytes)
            case .failed:
                reading.page.problem = "\(path): \(SystemError.current)"
                step = .stop
            }
            if step == .next { (at.offset, at.number) = (reader.offset, reader.number) }
        }
        if let app { state.parked[app] = at } else { state.front = at }
        return step
    }

    /// Gives up the records before a number that are missing.
    private func lose(upTo number: UInt64, into reading: inout Reading, in state: inout State) {
        let expected = max(state.expected, state.machine.cursor)
        if expected < number { reading.page.lost += state.machine.lose(expected...(number - 1)) }
        state.expected = max(expected, number)
    }

    /// Hands out the next record, or passes over it.
    private func enter(
        _ record: SpoolRecord, at place: Place, into reading: inout Reading, in state: inout State
    ) -> Step {
        guard record.number >= max(state.expected, state.machine.cursor) else { return .next }
        lose(upTo: record.number, into: &reading, in: &state)
        let app = record.request.appKey
        if state.machine.isFree(record.number) {
            if state.parked[app] == nil, !take(record, into: &reading, in: &state) {
                guard state.parked.count < Self.maxParked else { return .stop }
                state.parked[app] = place
            }
        }
        reading.read.passed += record.request.count
        state.expected = record.number + 1
        return .next
    }

    /// Hands out a record of an app that was passed over.
    private func catchUp(
        _ record: SpoolRecord, of app: IDKey?, into reading: inout Reading, in state: inout State
    ) -> Step {
        guard record.number < state.expected else { return .finish }
        guard record.request.appKey == app, state.machine.isFree(record.number) else {
            reading.read.passed += record.request.count
            return .next
        }
        return take(record, into: &reading, in: &state) ? .next : .stop
    }

    /// Returns false if the app has no room for the record.
    private func take(_ record: SpoolRecord, into reading: inout Reading, in state: inout State) -> Bool {
        if let room = reading.room[record.request.appKey] {
            guard room > 0 else { return false }
            reading.room[record.request.appKey] = room - 1
        }
        state.machine.take(record.number)
        reading.page.records.append(record)
        reading.read.records += 1
        reading.read.bytes += record.request.count
        return true
    }
}
