import PushLoop
import PushTransport

/// The threads and parts of a client, which end in order.
final class ClientBody: Sendable {
    let loop: EventLoop
    let context: ZMQContext
    let producer: Producer
    let spool: SpoolFiles?
    private let disk: BlockingPool
    private let state = Locked(State())

    private struct State {
        var subscribers: [ObjectIdentifier: Subscriber] = [:]
        var cursors: [String: CursorFile] = [:]
        var ending: Task<Void, Never>?
    }

    init(_ settings: ClientSettings) throws(ClientError) {
        do throws(ZMQError) {
            context = try ZMQContext()
        } catch {
            throw .unavailable(error.message)
        }
        spool = try settings.spool.map { settings throws(ClientError) in try SpoolFiles(settings) }
        loop = EventLoop(name: "carillon-client")
        disk = BlockingPool(name: "carillon-disk", threadCount: 1, queueLimit: 1024)
        producer = Producer(settings, context: context, on: loop, spool: spool)
        // What an earlier client left in the spool goes out without waiting for a push.
        if let spool, spool.count > 0 { producer.wake() }
    }

    // MARK: Subscriptions

    /// Adds a subscription, which ends with the client. Returns false if the client is ending.
    func add(_ subscriber: Subscriber) -> Bool {
        state.withLock { state in
            guard state.ending == nil else { return false }
            state.subscribers[ObjectIdentifier(subscriber)] = subscriber
            return true
        }
    }

    func remove(_ subscriber: Subscriber) {
        state.withLock { $0.subscribers[ObjectIdentifier(subscriber)] = nil }
    }

    /// Returns the cursor of a file. There is one object for each file.
    func cursor(_ path: String) async throws(EventError) -> CursorFile {
        if let cursor = state.withLock({ $0.cursors[path] }) { return cursor }
        let made = try await CursorFile(path, disk: disk)
        return state.withLock { state in
            if let cursor = state.cursors[path] { return cursor }
            state.cursors[path] = made
            return made
        }
    }

    // MARK: End

    /// Waits for what is under way, at most for a time, and ends everything. All calls return when the end is reached.
    func end(within limit: Duration) async {
        let task = state.withLock { state in
            let task = state.ending ?? Task.detached { await self.finish(within: limit) }
            state.ending = task
            return task
        }
        await task.value
    }

    private func finish(within limit: Duration) async {
        let (subscribers, cursors) = state.withLock { (Array($0.subscribers.values), Array($0.cursors.values)) }
        for subscriber in subscribers { await subscriber.close() }
        if limit > .zero { await producer.drain(within: limit) }
        await producer.close()
        await producer.closeSpool()
        await context.terminate()
        for cursor in cursors { await cursor.end() }
        await loop.shutDown()
        await disk.shutDown()
    }
}
