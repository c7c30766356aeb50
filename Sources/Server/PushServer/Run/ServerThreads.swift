import PushLoop
import PushTransport

/// The threads of a server: its loops, and pools for what blocks.
final class ServerThreads: Sendable {
    let loops = LoopGroup()
    let files = BlockingPool(name: "files", threadCount: 2, queueLimit: 64)
    /// A pool for the configuration file only, so that it can be read even if credentials are on a file system that
    /// hangs.
    let configurationFile = BlockingPool(name: "configuration", threadCount: 1, queueLimit: 4)
    let lookUps = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 256)
    /// Whether a reload that hangs may use the loops later. Then they are not shut down; they end with the process.
    private let areLoopsInUse = Locked(false)
    /// The task that reports that all loops turn. It ends just before the loops.
    private let beating = Locked<Task<Void, Never>?>(nil)

    /// The loop of all parts that are not spread over several ones.
    var home: EventLoop { loops.loops[0] }

    /// Adds the ends of the threads: they end after everything that is added later.
    init(endedBy services: ServiceStack) {
        services.add { [self] _ in await endPools() }
        services.add { [self] _ in if !areLoopsInUse.withLock({ $0 }) { await loops.shutDown() } }
        services.add { [self] _ in await endBeating() }
    }

    /// A pool in which a file access or a look-up hangs is left running, so that the shutdown does not hang too.
    private func endPools() async {
        for pool in [files, configurationFile, lookUps] where pool.load == (0, 0) { await pool.shutDown() }
    }

    func keepLoops() { areLoopsInUse.withLock { $0 = true } }

    /// Reports from now on that all loops turn. If a loop hangs, its turn does not return.
    func beginBeating(_ supervisor: Supervisor, status: @escaping @Sendable () async -> String) {
        let turns: [@Sendable () async -> Void] = loops.loops.map { loop in { await loop.run {} } }
        beating.withLock { $0 = Task { await supervisor.beat(turns, status: status) } }
    }

    private func endBeating() async {
        let task = beating.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    /// Returns free memory to the system twice a minute, until the task is cancelled.
    func releaseMemory() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(30))
            // It blocks, so it must not run on a loop.
            try? await lookUps.run { FreeMemory.giveBack() }
        }
    }
}
