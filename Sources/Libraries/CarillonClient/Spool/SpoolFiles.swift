import Glibc
import PushLoop
import PushTime

/// The files of a spool, on a thread of its own, which may block.
///
/// A directory has numbered files of records, the file `cursor` with the number of the first record that is not
/// acknowledged, and the file `lock`. A record is synced before it counts as stored. The cursor is not synced: an old
/// one leads to messages that are sent again, and Carillon dedupes them.
final class SpoolFiles: Sendable {
    let executor: BlockingExecutor
    private let state: Locked<State>
    private let settings: SpoolSettings
    private let lock: CInt
    /// The bytes at the end of the newest file that were not a whole record, and were cut off.
    let cutBytes: Int64

    private struct State {
        var machine: SpoolMachine
        var output: CInt = -1
        /// The file that is read, the offset in it, and the number of the next record if none is missing before it.
        var reading: (segment: UInt64, offset: Int64, number: UInt64) = (0, 0, 0)
        /// The number of the next record to hand out, if none is missing before it.
        var expected: UInt64 = 1
        /// The files in which messages were found damaged.
        var damaged: Set<UInt64> = []
    }

    /// What a reading found.
    struct Page {
        var records: [SpoolRecord] = []
        /// The numbers of messages that are lost, because their records are damaged.
        var lost: [ClosedRange<UInt64>] = []
        /// Why the rest cannot be read now.
        var problem: String?
    }

    /// Opens a spool, and cuts off a record at its end that was not written completely.
    init(_ settings: SpoolSettings) throws(ClientError) {
        self.settings = settings
        let directory = settings.directory
        if unsafe mkdir(directory, 0o700) == 0 {
            try? FileCalls.syncDirectory("\(directory)/..")
        } else if errno != EEXIST {
            throw .spool("cannot make the spool \(directory): \(SystemError.current); check the path")
        }
        lock = unsafe open("\(directory)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .spool("cannot open \(directory)/lock: \(SystemError.current)") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(lock)
            throw .spool("another process uses the spool \(directory); each process needs its own")
        }
        do throws(ClientError) {
            let (machine, cut) = try Self.load(settings)
            state = Locked(State(machine: machine))
            cutBytes = cut
        } catch {
            Glibc.close(lock)
            throw error
        }
        executor = BlockingExecutor(name: "carillon-spool")
    }

    deinit {
        Glibc.close(lock)
    }

    /// The number of records that are not acknowledged.
    var count: Int { state.withLock { Int(clamping: $0.machine.count) } }

    // MARK: Opening

    private static func load(_ settings: SpoolSettings) throws(ClientError) -> (SpoolMachine, cut: Int64) {
        try SpoolFile.takeVersion(in: settings.directory)
        var segments: [SpoolMachine.Segment] = []
        var last: UInt64 = 0
        var cut: Int64 = 0
        let cursor = SpoolFile.readCursor("\(settings.directory)/cursor") ?? 1
        let numbers = try SpoolFile.numbers(in: settings.directory)
        for first in numbers {
            let path = SpoolFile.path(first, in: settings.directory)
            guard let scan = SpoolFile.scan(path, first: first) else {
                throw .spool("cannot read \(path): \(SystemError.current); check its owner and mode")
            }
            last = max(last, scan.last, first - 1)
            // A kill interrupts the newest file only. What is wrong in others is reported when they are read.
            if first == numbers.last, scan.end < scan.size {
                cut = scan.size - scan.end
                try SpoolFile.cut(path, to: scan.end)
            }
            segments.append(.init(first: first, bytes: first == numbers.last ? scan.end : scan.size))
        }
        let machine = SpoolMachine(
            maxBytes: settings.maxBytes, segmentBytes: settings.segmentBytes, segments: segments, cursor: cursor,
            last: last)
        return (machine, cut)
    }

    // MARK: On the thread

    /// Stores requests with one sync. Returns for each whether it is stored.
    func append(_ requests: [EncodedRequest], now: WallTime = .current()) -> [PushError?] {
        // A request was attempted for that long, at most, before it came here.
        let time = now - settings.answerWithin
        return state.withLock { state in
            let before = state.machine
            var errors: [PushError?] = []
            var bytes: [UInt8] = []
            for request in requests {
                var record: [UInt8] = []
                SpoolRecord.append(request, number: state.machine.next, time: time, to: &record)
                switch state.machine.add(record.count) {
                case .full: errors.append(.spoolFull)
                case .last:
                    errors.append(nil)
                    bytes += record
                case .newSegment(let first):
                    errors.append(nil)
                    if let error = write(&bytes, in: &state) ?? begin(first, in: &state) {
                        return fail(error, to: before, count: requests.count, in: &state)
                    }
                    bytes += record
                }
            }
            if let error = write(&bytes, in: &state) {
                return fail(error, to: before, count: requests.count, in: &state)
            }
            return errors
        }
    }

    private func begin(_ first: UInt64, in state: inout State) -> PushError? {
        if state.output >= 0 { Glibc.close(state.output) }
        let path = SpoolFile.path(first, in: settings.directory)
        state.output = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        do throws(SystemError) {
            guard state.output >= 0 else { throw .current }
            try FileCalls.syncDirectory(settings.directory)
            return nil
        } catch {
            return .spoolFailed("\(path): \(error)")
        }
    }

    private func write(_ bytes: inout [UInt8], in state: inout State) -> PushError? {
        guard !bytes.isEmpty else { return nil }
        defer { bytes.removeAll(keepingCapacity: true) }
        if state.output < 0, let last = state.machine.segments.last {
            state.output = unsafe open(
                SpoolFile.path(last.first, in: settings.directory), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }
        do throws(SystemError) {
            try FileCalls.write(bytes, to: state.output)
            guard fdatasync(state.output) == 0 else { throw .current }
            return nil
        } catch {
            return .spoolFailed("\(settings.directory): \(error)")
        }
    }

    /// Returns to the state before a failed append, so that no half of it stays in the files.
    private func fail(_ error: PushError, to before: SpoolMachine, count: Int, in state: inout State) -> [PushError?] {
        for segment in state.machine.segments {
            let path = SpoolFile.path(segment.first, in: settings.directory)
            if let kept = before.segments.first(where: { $0.first == segment.first }) {
                if kept.bytes != segment.bytes { unsafe truncate(path, off_t(kept.bytes)) }
            } else {
                unsafe unlink(path)
            }
        }
        if state.output >= 0 { Glibc.close(state.output) }
        state.output = -1
        state.machine.undo(to: before)
        return Array(repeating: error, count: count)
    }

    /// Returns the next records that were not read since the start, in their order. What is damaged counts as
    /// acknowledged: nothing else would ever end it.
    func read(upTo limit: Int, bytes maxBytes: Int) -> Page {
        state.withLock { state in
            var page = Page()
            var total = 0
            while page.records.count < limit, total < maxBytes, page.problem == nil, let place = nextPlace(in: &state) {
                read(place, upTo: limit, bytes: maxBytes, total: &total, into: &page, in: &state)
            }
            for numbers in page.lost { state.machine.lose(numbers) }
            if !page.lost.isEmpty { storeCursor(in: &state) }
            return page
        }
    }

    /// Reads on in one file.
    private func read(
        _ place: Place, upTo limit: Int, bytes maxBytes: Int, total: inout Int, into page: inout Page,
        in state: inout State
    ) {
        let path = SpoolFile.path(place.segment.first, in: settings.directory)
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 || errno == ENOENT else {
            page.problem = "\(path): \(SystemError.current)"
            return
        }
        defer { if descriptor >= 0 { Glibc.close(descriptor) } }
        let size = descriptor >= 0 ? min(place.segment.bytes, Int64(lseek(descriptor, 0, SEEK_END))) : 0
        var reader = SpoolReader(descriptor, from: place.offset, number: place.number, size: size)
        var expected = max(state.expected, state.machine.cursor)
        defer {
            state.reading = (place.segment.first, reader.offset, reader.number)
            state.expected = expected
        }
        while page.records.count < limit, total < maxBytes {
            switch reader.next() {
            case .record(let record):
                guard record.number >= expected else { continue }
                if record.number > expected { page.lost.append(expected...(record.number - 1)) }
                expected = record.number + 1
                page.records.append(record)
                total += record.request.count
            case .damaged: state.damaged.insert(place.segment.first)
            case .end where reader.offset >= place.segment.bytes: return
            case .broken, .end:
                state.damaged.insert(place.segment.first)
                if expected < place.end { page.lost.append(expected...(place.end - 1)) }
                expected = max(expected, place.end)
                reader.skip(to: place.segment.bytes)
                return
            case .failed:
                page.problem = "\(path): \(SystemError.current)"
                return
            }
        }
    }

    private struct Place {
        let segment: SpoolMachine.Segment
        let offset: Int64
        /// The number of the next record in it.
        let number: UInt64
        /// The number of the first record that is not in it.
        let end: UInt64
    }

    private func nextPlace(in state: inout State) -> Place? {
        let at = state.reading
        let segments = state.machine.segments
        for (index, segment) in segments.enumerated() where segment.first >= at.segment {
            let isAt = segment.first == at.segment
            let offset = isAt ? at.offset : 0
            guard offset < segment.bytes else { continue }
            return Place(
                segment: segment, offset: offset, number: isAt ? at.number : segment.first,
                end: index + 1 < segments.count ? segments[index + 1].first : state.machine.next)
        }
        return nil
    }

    /// Marks records as acknowledged, and deletes the files in which all are. Returns how many are not.
    func acknowledge(_ numbers: [UInt64]) -> Int {
        state.withLock { state in
            var moved = false
            for number in numbers where state.machine.acknowledge(number) { moved = true }
            if moved { storeCursor(in: &state) }
            return Int(clamping: state.machine.count)
        }
    }

    private func storeCursor(in state: inout State) {
        SpoolFile.writeCursor(state.machine.cursor, to: "\(settings.directory)/cursor")
        for segment in state.machine.removeDone() {
            SpoolFile.remove(
                SpoolFile.path(segment.first, in: settings.directory),
                isDamaged: state.damaged.remove(segment.first) != nil)
        }
        guard state.machine.segments.isEmpty, state.output >= 0 else { return }
        Glibc.close(state.output)
        state.output = -1
    }

    /// Closes the files. The lock is released when the object is.
    func close() {
        state.withLock { state in
            if state.output >= 0 { Glibc.close(state.output) }
            state.output = -1
        }
        flock(lock, LOCK_UN)
    }
}
