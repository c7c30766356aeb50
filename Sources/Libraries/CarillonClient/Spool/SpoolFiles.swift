import Glibc
import PushLoop
import PushTime

/// The files of a spool, on a thread of its own, which may block.
///
/// A directory has numbered files of records, the file `cursor` with the number of the first record that is not
/// acknowledged, the file `removed` with the numbers behind it whose files are removed, and the file `lock`. A record is
/// synced before it counts as stored. The cursor is not synced: an old one leads to messages that are sent again, and
/// Carillon dedupes them.
final class SpoolFiles: Sendable {
    let executor: BlockingExecutor
    let state: Locked<State>
    let settings: SpoolSettings
    private let lock: CInt
    /// The bytes at the end of the newest file that were not a whole record, and were cut off.
    let cutBytes: Int64
    /// The apps of the messages that were there at the start.
    let apps: AppCounts

    struct State {
        var machine: SpoolMachine
        var output: CInt = -1
        /// How far the records of all apps were read.
        var front = Place(segment: 0, offset: 0, number: 0)
        /// The number of the next record there, if none is missing before it.
        var expected: UInt64 = 1
        /// Where the records of apps begin that were passed over, because Carillon has no room for them.
        var parked: [IDKey: Place] = [:]
        /// The files in which messages were found damaged.
        var damaged: Set<UInt64> = []
        /// The files that a failed append has left behind, with their lengths before it; nil if they did not exist.
        var unwanted: [(path: String, bytes: Int64?)] = []
        /// Why files that are done were not removed the last time.
        var problem: String?
        var isProblemKnown = false
    }

    /// A place in the files.
    struct Place {
        var segment: UInt64
        var offset: Int64
        /// The number of the next record in the file, if none is missing before it.
        var number: UInt64
    }

    /// The number of apps whose records can be passed over. Those of further ones hold up what follows them.
    static let maxParked = 256

    /// What a reading found.
    struct Page {
        var records: [SpoolRecord] = []
        /// The numbers of messages that are lost, because their records are damaged.
        var lost: [ClosedRange<UInt64>] = []
        /// Why the rest cannot be read now.
        var problem: String?
        /// Whether there is more behind the place up to which all apps were read, and it is not held up.
        var hasMore = false
        /// The apps that were passed over.
        var parked: Set<IDKey> = []
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
            let (machine, cut, apps) = try Self.load(settings)
            state = Locked(State(machine: machine))
            cutBytes = cut
            self.apps = apps
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

    private static func load(
        _ settings: SpoolSettings
    ) throws(ClientError) -> (SpoolMachine, cut: Int64, apps: AppCounts) {
        try SpoolFile.takeVersion(in: settings.directory)
        var segments: [SpoolMachine.Segment] = []
        var last: UInt64 = 0
        var cut: Int64 = 0
        var isLastClosed = false
        let cursor = SpoolFile.readCursor("\(settings.directory)/cursor") ?? 1
        let removed = SpoolFile.readRemoved(in: settings.directory)
        var apps = AppCounts()
        let numbers = try SpoolFile.numbers(in: settings.directory).filter { first in
            guard removed.contains(where: { $0.contains(first) }) else { return true }
            // A kill came before it was removed.
            SpoolFile.remove(SpoolFile.path(first, in: settings.directory), isDamaged: false)
            return false
        }
        for first in numbers {
            let path = SpoolFile.path(first, in: settings.directory)
            let scan = SpoolFile.scan(path, first: first) { if $0.number >= cursor { apps.add($0.request.appKey) } }
            guard let scan else {
                throw .spool("cannot read \(path): \(SystemError.current); check its owner and mode")
            }
            last = max(last, scan.last, first - 1)
            isLastClosed = scan.hasHiddenEnd
            // A kill interrupts the newest file only. What is wrong in others is reported when they are read.
            if first == numbers.last, scan.end < scan.size {
                cut = scan.size - scan.end
                try SpoolFile.cut(path, to: scan.end)
            }
            segments.append(.init(first: first, bytes: first == numbers.last ? scan.end : scan.size))
        }
        // One message that waits for long keeps its file, which is a small part of the spool.
        let machine = SpoolMachine(
            maxBytes: settings.maxBytes, segmentBytes: min(settings.segmentBytes, max(4096, settings.maxBytes / 16)),
            segments: segments, cursor: cursor, last: last, removed: removed, isLastClosed: isLastClosed)
        return (machine, cut, apps)
    }

    // MARK: On the thread

    /// Stores requests with one sync. Returns for each whether it is stored.
    func append(_ requests: [EncodedRequest], now: WallTime = .current()) -> [PushError?] {
        // A request was attempted for that long, at most, before it came here.
        let time = now - settings.answerWithin
        return state.withLock { state in
            if let error = cutUnwanted(in: &state) { return Array(repeating: error, count: requests.count) }
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
            let kept = before.segments.first { $0.first == segment.first }?.bytes
            guard kept != segment.bytes else { continue }
            state.unwanted.append((SpoolFile.path(segment.first, in: settings.directory), kept))
        }
        _ = cutUnwanted(in: &state)
        if state.output >= 0 { Glibc.close(state.output) }
        state.output = -1
        state.machine.undo(to: before)
        return Array(repeating: error, count: count)
    }

    /// Removes what a failed append has left. Until that succeeds, nothing is appended: a record behind half of another
    /// one would be taken for damaged, and its number would be there twice.
    private func cutUnwanted(in state: inout State) -> PushError? {
        while let (path, bytes) = state.unwanted.last {
            let result = if let bytes { unsafe truncate(path, off_t(bytes)) } else { unsafe unlink(path) }
            guard result == 0 || errno == ENOENT else {
                return .spoolFailed("\(path): the end cannot be cut off: \(SystemError.current)")
            }
            state.unwanted.removeLast()
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

    func storeCursor(in state: inout State) {
        SpoolFile.writeCursor(state.machine.cursor, to: "\(settings.directory)/cursor")
        var machine = state.machine
        var done = machine.removeDone()
        var problem: String?
        if done.contains(where: { ($0.end ?? 0) > machine.cursor }) {
            problem = SpoolFile.writeRemoved(machine.removed, in: settings.directory)
        }
        if problem != nil {
            machine = state.machine
            done = machine.removeDone(upToCursor: true)
        }
        if problem == nil { state.isProblemKnown = false }
        state.problem = problem
        state.machine = machine
        for segment in done {
            SpoolFile.remove(
                SpoolFile.path(segment.first, in: settings.directory),
                isDamaged: state.damaged.remove(segment.first) != nil)
        }
        guard state.machine.segments.isEmpty, state.output >= 0 else { return }
        Glibc.close(state.output)
        state.output = -1
    }

    /// Returns why files that are done cannot be removed now, once.
    func takeProblem() -> String? {
        state.withLock { state in
            guard let problem = state.problem, !state.isProblemKnown else { return nil }
            state.isProblemKnown = true
            return problem
        }
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
