import PushLoop
import PushTransport

/// The threads and parts of a client, which end in order.
final class ClientBody: Sendable {
    let loop: EventLoop
    let context: ZMQContext
    let producer: Producer
    let spool: SpoolFiles?
    let disk: BlockingPool
    let sessions = Locked<[ObjectIdentifier: EventSession]>([:])
    private let ending = Locked<Task<Void, Never>?>(nil)

    init(_ settings: ClientSettings) throws(ClientError) {
        spool = try settings.spool.map { settings throws(ClientError) in try SpoolFiles(settings) }
        do throws(ZMQError) {
            context = try ZMQContext()
        } catch {
            throw .unavailable(error.message)
        }
        loop = EventLoop(name: "carillon-client")
        disk = BlockingPool(name: "carillon-disk", threadCount: 1, queueLimit: 1024)
        producer = Producer(settings, context: context, on: loop, spool: spool)
    }

    /// Waits for what is under way, at most for a time, and ends everything. All calls return when the end is reached.
    func end(within limit: Duration) async {
        let task = ending.withLock { ending in
            let task = ending ?? Task.detached { await self.finish(within: limit) }
            ending = task
            return task
        }
        await task.value
    }

    private func finish(within limit: Duration) async {
        for session in sessions.withLock({ Array($0.values) }) { await session.close() }
        if limit > .zero {
            let producer = producer
            let timer = await loop.run { [loop] in
                let id = loop.schedule(after: limit) { producer.assumeIsolated { $0.resumeIdle() } }
                return id
            }
            await producer.drain()
            await loop.run { [loop] in _ = loop.cancel(timer) }
        }
        await producer.close()
        await producer.closeSpool()
        await context.terminate()
        await loop.shutDown()
        await disk.shutDown()
    }
}
