import Glibc
import PushLoop

/// The file of a durable cursor. It is replaced atomically; while one position is being written, only the newest of the
/// following ones is kept.
final class CursorFile: Sendable {
    private struct State {
        var position: EventPosition?
        var pending: EventPosition?
        var isWriting = false
        var isUsed = false
        var hasEnded = false
        var error: String?
    }

    let path: String
    private let disk: BlockingPool
    private let state: Locked<State>
    /// Held while the file is written.
    private let file = Locked(())

    /// Reads the file. A file that does not exist is a cursor without a position.
    init(_ path: String, disk: BlockingPool) async throws(EventError) {
        self.path = path
        self.disk = disk
        let read: Result<EventPosition?, EventError>
        do {
            read = try await disk.run { Self.read(path) }
        } catch {
            throw .closed
        }
        state = Locked(State(position: try read.get()))
    }

    /// The newest position; nil if there was none yet.
    var position: EventPosition? { state.withLock { $0.pending ?? $0.position } }

    /// Reserves the cursor for one subscription. Returns false if another one uses it.
    func use() -> Bool {
        state.withLock { state in
            defer { state.isUsed = true }
            return !state.isUsed
        }
    }

    func release() { state.withLock { $0.isUsed = false } }

    /// Returns the error of a write since the last call.
    func takeError() -> String? { state.withLock { $0.error.take() } }

    /// Stores a position soon; after ``end()`` at once, on this thread: a consumer may still take what it had when the
    /// client ended, and the process may end right after.
    func store(_ position: EventPosition) {
        let (starts, hasEnded) = state.withLock { state in
            state.pending = position
            defer { state.isWriting = true }
            return (!state.isWriting, state.hasEnded)
        }
        if hasEnded { return writeAll() }
        guard starts else { return }
        Task { [self] in
            do {
                try await disk.run { self.writeAll() }
            } catch {
                // The pool has ended or is full. The next position tries again.
                state.withLock { $0.isWriting = false }
            }
        }
    }

    /// Stores the newest position, and lets later ones be stored without the pool, which is about to end.
    func end() async {
        state.withLock { $0.hasEnded = true }
        try? await disk.run { self.writeAll() }
    }

    private func writeAll() {
        file.withLock { _ in
            while let position = nextPending() {
                let error = Self.write(position, to: path)
                state.withLock { state in
                    state.position = position
                    if let error { state.error = error }
                }
            }
        }
    }

    private func nextPending() -> EventPosition? {
        state.withLock { state in
            let position = state.pending.take()
            if let position { state.position = position } else { state.isWriting = false }
            return position
        }
    }

    private static func read(_ path: String) -> Result<EventPosition?, EventError> {
        guard unsafe access(path, F_OK) == 0 else {
            return errno == ENOENT
                ? .success(nil) : .failure(.cursor("cannot read the cursor \(path): \(SystemError.current)"))
        }
        let text = String(decoding: DiskFile.read(path, from: 0, count: 16 << 20), as: UTF8.self)
        if let version = EventPosition.version(of: text) {
            return .failure(
                .cursor(
                    "the cursor \(path) was written by a newer CarillonClient (version \(version)); use that version, or "
                        + "remove the cursor and start from now"))
        }
        guard let position = EventPosition(text) else {
            return .failure(.cursor("the cursor \(path) is damaged; remove it, or restore it from a copy"))
        }
        return .success(position)
    }

    /// Returns the error, or nil.
    private static func write(_ position: EventPosition, to path: String) -> String? {
        let isNew = unsafe access(path, F_OK) != 0
        do throws(SystemError) {
            try WholeFile.write(Array("\(position)\n".utf8), to: path, until: .content)
        } catch {
            return "cannot write the cursor \(path): \(error)"
        }
        // Otherwise a subscription that began with new events could begin anew after a power cut, and miss some.
        if isNew { try? FileCalls.syncDirectory(FileCalls.directory(of: path)) }
        return nil
    }
}
