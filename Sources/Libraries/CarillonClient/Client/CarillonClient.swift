import PushLoop
import PushTransport

/// A client of Carillon: pushes messages over ZeroMQ, and reads events.
///
/// ```swift
/// let client = try CarillonClient(ClientSettings(endpoints: ["tcp://127.0.0.1:5560"]))
/// try await withThrowingTaskGroup { group in
///     group.addTask { try await client.run() }
///     let push = Push(id: "order-4711-shipped", app: "shop", to: .user("ada"), alert: "It is on its way")
///     let receipt = try await client.push(push)      // Carillon has it on disk
///     group.cancelAll()                              // run() flushes and ends
/// }
/// ```
///
/// ``run()`` has the shape of a `Service` of swift-service-lifecycle. A program without it calls ``shutdown()`` at its
/// end; pushing works without ``run()``.
public final class CarillonClient: Sendable {
    let settings: ClientSettings
    let body: ClientBody
    private let lifetime = Locked(Lifetime())

    private struct Lifetime {
        var hasRun = false
        var isEnding = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    /// Creates a client. It connects with the first push, or at once if the spool has messages.
    ///
    /// - Throws: ``ClientError`` if a setting is not valid or the spool cannot be opened.
    public init(_ settings: ClientSettings = ClientSettings()) throws(ClientError) {
        try settings.check()
        self.settings = settings
        body = try ClientBody(settings)
    }

    deinit {
        // The threads must not outlive the client, and a thread cannot wait for its own end.
        let body = body
        Task.detached { await body.end(within: .zero) }
    }

    // MARK: Life

    /// Runs until the task is cancelled or ``shutdown()`` is called. Then it waits for the acks of what is under way,
    /// at most for `drainTimeout`, and ends the client.
    ///
    /// - Throws: ``ClientError/alreadyRunning`` if it was called before.
    public func run() async throws {
        let isFirst = lifetime.withLock { lifetime in
            defer { lifetime.hasRun = true }
            return !lifetime.hasRun
        }
        guard isFirst else { throw ClientError.alreadyRunning }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isEnding = lifetime.withLock { lifetime in
                    if !lifetime.isEnding { lifetime.waiting = continuation }
                    return lifetime.isEnding
                }
                if isEnding { continuation.resume() }
            }
        } onCancel: {
            endRun()
        }
        await body.end(within: settings.producer.drainTimeout)
    }

    /// Waits for the acks of what is under way, at most for `drainTimeout`, and ends the client. ``run()`` returns.
    /// Pushes that are not answered then throw ``PushError/closed(inDoubt:)``, or go to the spool. May be called twice.
    public func shutdown() async {
        endRun()
        await body.end(within: settings.producer.drainTimeout)
    }

    private func endRun() {
        let waiting = lifetime.withLock { lifetime in
            lifetime.isEnding = true
            return lifetime.waiting.take()
        }
        waiting?.resume()
    }

    /// The number of messages in the spool that are not acknowledged; 0 without a spool.
    public var spooled: Int { body.spool?.count ?? 0 }

    // MARK: Pushing

    /// Pushes a message, and returns when Carillon has it on disk.
    ///
    /// The message is sent again under its id until it is acknowledged or the deadline has passed. While too many
    /// messages are unacknowledged, the call waits. If the task is cancelled before the message was sent, it is not
    /// sent; later, it is in doubt.
    ///
    /// - Parameter deadline: The time after which the call throws; nil for that of the settings. With a spool,
    ///   `answerWithin` of the spool counts.
    /// - Throws: ``PushError``.
    @discardableResult
    public func push(_ push: consuming Push, deadline: Duration? = nil) async throws(PushError) -> PushReceipt {
        let request: EncodedRequest
        do throws(PushRefusal) {
            // Ends the message while its memory is in the cache. Only the request waits for the ack.
            request = try EncodedRequest(push)
        } catch {
            throw .refused(error)
        }
        let outcome = await body.producer.perform(request, deadline: deadline ?? settings.producer.deadline)
        return try outcome.receipt()
    }

    /// Pushes many messages, and returns one result for each, in their order. At most a window of them is under way at
    /// a time, so that the list may be of any length.
    public func push(
        contentsOf pushes: [Push], deadline: Duration? = nil
    ) async -> [Result<PushReceipt, PushError>] {
        var results: [Result<PushReceipt, PushError>] = []
        results.reserveCapacity(pushes.count)
        var rest = pushes[...]
        while !rest.isEmpty {
            let some = rest.prefix(settings.producer.window)
            rest = rest.dropFirst(some.count)
            results += await body.producer.perform(some, deadline: deadline ?? settings.producer.deadline)
        }
        return results
    }

    /// Cancels a message: what has not gone out does not go out. Returns when that is on disk.
    ///
    /// - Throws: ``PushError``; `unknown_message` as the reason of a refusal means that Carillon does not know the
    ///   message.
    public func cancel(
        _ id: String, app: String, deadline: Duration? = nil
    ) async throws(PushError) -> CancelReceipt {
        let request: EncodedRequest
        do throws(PushRefusal) {
            request = try EncodedRequest(cancel: id, app: app)
        } catch {
            throw .refused(error)
        }
        let outcome = await body.producer.perform(request, deadline: deadline ?? settings.producer.deadline)
        switch outcome {
        case .answered(.cancelled(let sent, let cancelled, let apps)):
            return .cancelled(sent: sent, cancelled: cancelled, apps: apps)
        case .answered(.tooLate): return .tooLate
        case .answered, .spooled:
            do { _ = try outcome.receipt() } catch { throw error }
            return .tooLate
        case .failed(let error): throw error
        }
    }
}

extension ProducerMachine.Outcome {
    func receipt() throws(PushError) -> PushReceipt {
        switch self {
        case .answered(.accepted(let number, let findings, let apps)):
            return PushReceipt(.accepted, number: number, findings: findings, apps: apps)
        case .answered(.duplicate(let number, let findings, let apps)):
            return PushReceipt(.duplicate, number: number, findings: findings, apps: apps)
        case .answered(.rejected(let refusal)): throw .refused(refusal)
        case .answered(.busy(let pause)): throw .busy(retryAfter: pause)
        case .answered(.cancelled), .answered(.tooLate):
            throw .unknown("the answer belongs to another request with this id")
        case .spooled: return PushReceipt(.spooled)
        case .failed(let error): throw error
        }
    }
}

extension Producer {
    /// Sends many pushes together, and returns their results in their order.
    nonisolated func perform(
        _ pushes: ArraySlice<Push>, deadline: Duration
    ) async -> [Result<PushReceipt, PushError>] {
        let gathering = PushGathering(count: pushes.count)
        let tickets = Locked<[Ticket]>([])
        return await withTaskCancellationHandler {
            for (index, push) in pushes.enumerated() {
                do throws(PushRefusal) {
                    let ticket = mailbox.nextTicket()
                    let submission = Submission(
                        ticket: ticket, request: try EncodedRequest(push), deadline: deadline,
                        waiter: .part(gathering, index: index))
                    // Before it is handed in, so that a cancellation from now on finds it.
                    tickets.withLock { $0.append(ticket) }
                    if let error = submit(submission) { gathering.finish(index, with: .failed(error)) }
                } catch {
                    gathering.finish(index, with: .failed(.refused(error)))
                }
            }
            return await gathering.all().map { outcome in
                do throws(PushError) {
                    guard let outcome else { throw PushError.closed(inDoubt: true) }
                    return .success(try outcome.receipt())
                } catch {
                    return .failure(error)
                }
            }
        } onCancel: {
            for ticket in tickets.withLock({ $0 }) { cancel(ticket) }
        }
    }
}
