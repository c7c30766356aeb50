import Glibc
import PushLoop

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

    private struct State {
        var machine: SpoolMachine
        var output: CInt = -1
        /// The next record to read: its file, and the offset in it.
        var reading: (segment: UInt64, offset: Int64)?
        var isClosed = false
    }

    /// Opens a spool, and cuts off a record at its end that was not written completely.
    init(_ settings: SpoolSettings) throws(ClientError) {
        self.settings = settings
        let directory = settings.directory
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw .spool("cannot make the spool \(directory): \(SystemError.current); check the path")
        }
        lock = unsafe open("\(directory)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .spool("cannot open \(directory)/lock: \(SystemError.current)") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(lock)
            throw .spool("another process uses the spool \(directory); each process needs its own")
        }
        do throws(ClientError) {
            state = Locked(State(machine: try Self.load(settings)))
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

    private static func load(_ settings: SpoolSettings) throws(ClientError) -> SpoolMachine {
        try SpoolFile.checkVersion(in: settings.directory)
        var segments: [SpoolMachine.Segment] = []
        var last: UInt64 = 0
        let cursor = SpoolFile.readCursor("\(settings.directory)/cursor") ?? 1
        for first in try SpoolFile.numbers(in: settings.directory) {
            let path = SpoolFile.path(first, in: settings.directory)
            guard let scan = SpoolFile.scan(path) else {
                throw .spool("cannot read \(path): \(SystemError.current); check its owner and mode")
            }
            if scan.end < scan.size { try SpoolFile.cut(path, to: scan.end) }
            last = max(last, scan.last, first - 1)
            segments.append(.init(first: first, bytes: scan.end))
        }
        return SpoolMachine(
            maxBytes: settings.maxBytes, segmentBytes: settings.segmentBytes, segments: segments, cursor: cursor,
            last: last)
    }

    // MARK: On the thread

    /// Stores requests with one sync. Returns for each whether it is stored.
    func append(_ requests: [EncodedRequest]) -> [PushError?] {
        state.withLock { state in
            let before = state.machine
            var errors: [PushError?] = []
            var bytes: [UInt8] = []
            for request in requests {
                var record: [UInt8] = []
                SpoolRecord.append(request, number: state.machine.next, to: &record)
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
        guard state.output >= 0, DiskFile.syncDirectory(settings.directory) else {
            return .spoolFailed("\(path): \(SystemError.current)")
        }
        return nil
    }

    private func write(_ bytes: inout [UInt8], in state: inout State) -> PushError? {
        guard !bytes.isEmpty else { return nil }
        defer { bytes.removeAll(keepingCapacity: true) }
        if state.output < 0, let last = state.machine.segments.last {
            state.output = unsafe open(
                SpoolFile.path(last.first, in: settings.directory), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }
        guard DiskFile.write(bytes, to: state.output), fdatasync(state.output) == 0 else {
            return .spoolFailed("\(settings.directory): \(SystemError.current)")
        }
        return nil
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

    /// Returns the next records that were not read since the start, in their order.
    func read(upTo limit: Int, bytes maxBytes: Int) -> [SpoolRecord] {
        state.withLock { state in
            var records: [SpoolRecord] = []
            var total = 0
            while records.count < limit, total < maxBytes, let place = nextPlace(in: &state) {
                let path = SpoolFile.path(place.segment.first, in: settings.directory)
                let length = place.segment.bytes - place.offset
                let chunk = DiskFile.read(path, from: place.offset, count: min(length, 1 << 20))
                var at = 0
                while records.count < limit, total < maxBytes, let (record, end) = SpoolRecord.read(chunk, at: at) {
                    at = end
                    guard record.number >= state.machine.cursor else { continue }
                    records.append(record)
                    total += record.request.count
                }
                if at == 0, length > chunk.count, let record = readLarge(path, place.offset, length) {
                    at = record.end
                    if record.record.number >= state.machine.cursor { records.append(record.record) }
                }
                // Without progress the rest of the file is damaged.
                state.reading = (place.segment.first, at == 0 ? place.segment.bytes : place.offset + Int64(at))
            }
            return records
        }
    }

    /// Reads a record that is larger than a chunk.
    private func readLarge(_ path: String, _ offset: Int64, _ length: Int64) -> (record: SpoolRecord, end: Int)? {
        let limit = Int64(SpoolRecord.maxBody + SpoolRecord.headLength)
        return SpoolRecord.read(DiskFile.read(path, from: offset, count: min(length, limit)), at: 0)
    }

    private func nextPlace(in state: inout State) -> (segment: SpoolMachine.Segment, offset: Int64)? {
        let at = state.reading ?? (0, 0)
        for segment in state.machine.segments where segment.first >= at.segment {
            let offset = segment.first == at.segment ? at.offset : 0
            if offset < segment.bytes { return (segment, offset) }
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

    /// Called when all records were read and those that were read are acknowledged. Removes the places of damaged ones.
    func finish() {
        state.withLock { state in
            guard state.machine.count > 0, nextPlace(in: &state) == nil else { return }
            state.machine.skip(to: state.machine.next)
            storeCursor(in: &state)
        }
    }

    private func storeCursor(in state: inout State) {
        SpoolFile.writeCursor(state.machine.cursor, to: "\(settings.directory)/cursor")
        for segment in state.machine.removeDone() {
            unsafe unlink(SpoolFile.path(segment.first, in: settings.directory))
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
            state.isClosed = true
        }
        flock(lock, LOCK_UN)
    }
}
