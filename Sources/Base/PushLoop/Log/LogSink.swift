import Glibc

/// A descriptor to which log lines are written without waiting for its reader.
///
/// While the reader keeps up, the caller writes each line with one `write`. If the reader stalls, that call would stop
/// every event loop that logs. Lines then wait in memory, and a thread of their own writes them. Lines for which there is
/// no room are lost and counted.
package final class LogSink: Sendable {
    fileprivate struct State {
        /// The waiting lines, from `first` on.
        var waiting: [[UInt8]] = []
        var first = 0
        var waitingBytes = 0
        /// Whether a thread writes the waiting lines.
        var isDraining = false
        var lost: UInt64 = 0
        var reportedLoss: UInt64 = 0
    }

    /// The room for the lines of some minutes.
    package static let maxWaitingBytes = 1 << 20
    /// The time that a reader has at the end of the process for each line that waits.
    private static let flushTime: CInt = 1000

    let descriptor: CInt
    private let room: Int
    private let state = Locked(State())

    init(descriptor: CInt, room: Int = LogSink.maxWaitingBytes) {
        self.descriptor = descriptor
        self.room = room
    }

    /// The number of lines that were lost because the reader stalled, or because `write` failed.
    package var lostLineCount: UInt64 { state.withLock { $0.lost } }

    /// Returns the number of lines that were lost since the last call, or 0 while there is no room to report it.
    func takeLoss() -> UInt64 {
        state.withLock { state in
            guard state.waitingBytes <= room / 2 else { return 0 }
            defer { state.reportedLoss = state.lost }
            return state.lost - state.reportedLoss
        }
    }

    /// Writes a line, or keeps it for later.
    func write(_ line: [UInt8]) {
        state.withLock { state in
            if !state.isDraining, isWritable(within: 0) {
                if !send(line) { state.lost += 1 }
                return
            }
            guard state.waitingBytes + line.count <= room else {
                state.lost += 1
                return
            }
            state.waiting.append(line)
            state.waitingBytes += line.count
            guard !state.isDraining else { return }
            state.isDraining = true
            // The thread detaches itself and ends when nothing waits.
            _ = NamedThread(named: "log") { self.drain() }
        }
    }

    /// Writes the lines that wait, at the end of a process, as long as the reader takes them.
    func flush() {
        while let line = state.withLock({ $0.takeFirst() }) {
            guard isWritable(within: Self.flushTime), send(line) else { return }
        }
    }

    private func drain() {
        while true {
            let line = state.withLock { state -> [UInt8]? in
                let line = state.takeFirst()
                if line == nil { state.isDraining = false }
                return line
            }
            guard let line else { return }
            if !(isWritable(within: -1) && send(line)) { state.withLock { $0.lost += 1 } }
        }
    }

    /// Whether a line can be written without waiting. A pipe is writable if it has room for a line of the maximum
    /// length.
    private func isWritable(within milliseconds: CInt) -> Bool {
        // `poll` ignores a negative descriptor, and `write` reports it.
        guard descriptor >= 0 else { return true }
        while true {
            var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let count = unsafe poll(&asked, 1, milliseconds)
            if count >= 0 || errno != EINTR { return count != 0 }
        }
    }

    /// Writes a line with one system call. It calls again only if the call was interrupted or wrote only a part.
    private func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let count = unsafe Glibc.write(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
                if count > 0 {
                    sent += count
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}

extension LogSink.State {
    fileprivate mutating func takeFirst() -> [UInt8]? {
        guard first < waiting.count else {
            (waiting, first) = ([], 0)
            return nil
        }
        let line = waiting[first]
        waiting[first] = []
        first += 1
        waitingBytes -= line.count
        return line
    }
}
