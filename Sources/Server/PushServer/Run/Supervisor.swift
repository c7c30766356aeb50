import Glibc
import PushLoop

/// Reports the state of the server to the service manager: when it is ready, reloads and stops, and that its loops turn.
///
/// Without a service manager it does nothing. systemd restarts a server whose loops do not turn, because the reports
/// `WATCHDOG=1` then end; see ``beat(_:status:)``.
package final class Supervisor: Sendable {
    private struct State {
        /// The lines that report the current state.
        var lines: [String] = []
        /// Whether the service manager has received these lines.
        var isReported = true
        var isStopping = false
        var status: String?
    }

    private let socket: NotifySocket?
    private let state = Locked(State())
    /// The time between two beats.
    let interval: Duration
    private let hasWatchdog: Bool

    /// The interval of beats if there is no watchdog. They keep the status up to date.
    private static let usualInterval: Duration = .seconds(10)
    /// How long a start or a stop may take after a report that extends its time.
    static let startExtension: Duration = .seconds(60)
    /// The time of a stop besides the drain: closing the stores and ending the loops.
    static let stopExtension: Duration = .seconds(60)
    /// The interval of reports that extend the time of a start.
    private static let startInterval: Duration = .seconds(10)

    /// Creates a supervisor from the variables `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` of the environment.
    package init(_ environment: [String: String], process: Int32 = getpid()) {
        socket = environment["NOTIFY_SOCKET"].flatMap { NotifySocket($0) }
        let limit = Self.watchdog(environment, process: process)
        hasWatchdog = limit != nil
        // Two beats may be late before the watchdog ends the process.
        interval = limit.map { min($0 / 3, Self.usualInterval) } ?? Self.usualInterval
    }

    package var isActive: Bool { socket != nil }

    /// Returns the time after which the watchdog expires; nil if there is none for this process.
    private static func watchdog(_ environment: [String: String], process: Int32) -> Duration? {
        guard let limit = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), limit > 0 else { return nil }
        if let owner = environment["WATCHDOG_PID"], Int32(owner) != process { return nil }
        return .microseconds(limit)
    }

    // MARK: States

    /// All sockets are bound, and the server takes requests.
    func ready(status: String) {
        report(["READY=1"], status: status)
    }

    /// A reload begins. ``ready(status:)`` ends it.
    func reloading() {
        let now = MonotonicTime.current().nanoseconds / 1000
        report(["RELOADING=1", "MONOTONIC_USEC=\(now)"], status: "Reloading the configuration")
    }

    /// The server drains, and then ends within a minute.
    func stopping(drainingWithin drain: Duration) {
        report(
            ["STOPPING=1", Self.extend(by: drain + Self.stopExtension)],
            status: "Waiting for the answers to deliveries in flight", isLast: true)
    }

    private func report(_ lines: [String], status: String, isLast: Bool = false) {
        guard let socket else { return }
        state.withLock { state in
            // A reload that ends during the stop must not report that the server is ready.
            if state.isStopping { return }
            state.isStopping = isLast
            state.lines = lines
            state.status = status
            state.isReported = socket.send(lines + [Self.line(status)])
        }
    }

    private static func line(_ status: String) -> String {
        "STATUS=" + status.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    private static func extend(by time: Duration) -> String {
        "EXTEND_TIMEOUT_USEC=\(time.components.seconds * 1_000_000)"
    }

    // MARK: Start

    /// Extends the time of the start while it makes progress, until the task is cancelled.
    func extendStart() async {
        guard isActive else { return }
        var progress = StartProgress(.current())
        while (try? await Task.sleep(for: Self.startInterval)) != nil {
            extendStart(if: progress.advanced(to: .current()))
        }
    }

    func extendStart(if isProgressing: Bool) {
        guard isProgressing else { return }
        _ = socket?.send([
            Self.extend(by: Self.startExtension), Self.line("Reading the ledger and the registry"),
        ])
    }

    // MARK: Beats

    /// Beats until the task is cancelled.
    func beat(_ turns: [@Sendable () async -> Void], status: @Sendable () async -> String) async {
        guard isActive else { return }
        repeat {
            await beatOnce(turns, status: status)
        } while (try? await Task.sleep(for: interval)) != nil
    }

    /// Reports that the server is alive when each of the `turns` has returned. One that does not return, such as that of
    /// a loop that hangs, leaves the report out, and the watchdog expires.
    func beatOnce(_ turns: [@Sendable () async -> Void], status: @Sendable () async -> String) async {
        guard let socket else { return }
        for turn in turns { await turn() }
        if hasWatchdog { _ = socket.send(["WATCHDOG=1"]) }
        // Parts that the status reads may have ended.
        let status = state.withLock { $0.isStopping } ? nil : await status()
        state.withLock { state in
            if !state.isReported {
                // The service manager did not take the report of this state. It would wait for it.
                state.isReported = socket.send(state.lines + [Self.line(state.status ?? "")])
            } else if let status, !state.isStopping, state.lines == ["READY=1"], state.status != status {
                if socket.send([Self.line(status)]) { state.status = status }
            }
        }
    }
}

extension StartProgress.Usage {
    /// The usage of this process.
    static func current() -> Self {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let times = [usage.ru_utime, usage.ru_stime]
        return Self(
            processorTime: times.reduce(.zero) { $0 + .seconds($1.tv_sec) + .microseconds($1.tv_usec) },
            blocksRead: usage.ru_inblock)
    }
}
