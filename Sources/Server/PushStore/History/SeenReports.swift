import PushLoop
package import PushModel

/// The reports of apps that a delivery was displayed or opened. Each becomes one event, however often it is reported.
///
/// Reports of all requests are looked up and stored together, one batch after the other. A batch begins when the events
/// of the one before it are on disk, so that the lookup finds them.
package actor SeenReports {
    package struct Result: Sendable, Equatable {
        /// The number of reports about sent deliveries, also of those that were reported before.
        package var taken = 0
        /// The number of reports about deliveries that were not sent, are not known any more, or belong to another app.
        package var unknown = 0

        package init(taken: Int = 0, unknown: Int = 0) {
            (self.taken, self.unknown) = (taken, unknown)
        }
    }

    package enum Failure: Error, Sendable, Equatable {
        /// Too many requests wait.
        case busy
        /// The ledger cannot write.
        case notStored
    }

    package struct Counts: Sendable, Equatable {
        package var displayed: UInt64 = 0
        package var opened: UInt64 = 0
    }

    private struct Call: Sendable {
        let app: AppID
        let reports: [SeenReport]
        let done: CheckedContinuation<Result, any Error>
    }

    private static let batchSize = 1000

    private let deliveries: any SentDeliveries
    private let limit: Int
    private var waiting: [Call] = []
    private var isRunning = false
    private let counts = Locked<[AppID: Counts]>([:])

    /// Creates the collection.
    ///
    /// - Parameter limit: the maximum number of requests that wait.
    package init(_ deliveries: any SentDeliveries, limit: Int = 256) {
        self.deliveries = deliveries
        self.limit = limit
    }

    /// Returns the numbers of events since the start.
    package nonisolated func counts(of app: AppID) -> Counts { counts.withLock { $0[app] ?? Counts() } }

    /// Takes the reports of an app, and returns when the events of new ones are on disk.
    package func take(_ reports: [SeenReport], of app: AppID) async throws -> Result {
        guard waiting.count < limit else { throw Failure.busy }
        return try await withCheckedThrowingContinuation { continuation in
            waiting.append(Call(app: app, reports: reports, done: continuation))
            guard !isRunning else { return }
            isRunning = true
            Task { await run() }
        }
    }

    private func run() async {
        while !waiting.isEmpty {
            var (calls, size) = (0, 0)
            while calls < waiting.count, calls == 0 || size + waiting[calls].reports.count <= Self.batchSize {
                size += waiting[calls].reports.count
                calls += 1
            }
            let batch = Array(waiting.prefix(calls))
            waiting.removeFirst(calls)
            do {
                for (call, result) in zip(batch, try await store(batch)) { call.done.resume(returning: result) }
            } catch {
                for call in batch { call.done.resume(throwing: error) }
            }
        }
        isRunning = false
    }

    private func store(_ batch: [Call]) async throws -> [Result] {
        let ids = Set(batch.lazy.flatMap(\.reports).compactMap(\.id))
        var known = ids.isEmpty ? [:] : try await deliveries.sent(Array(ids))
        var events: [EventDraft] = []
        var results: [Result] = []
        for call in batch {
            var result = Result()
            for report in call.reports {
                guard let id = report.id, let delivery = known[id], delivery.app == call.app else {
                    result.unknown += 1
                    continue
                }
                result.taken += 1
                guard known[id]?.seen.insert(report.what).inserted == true else { continue }
                events.append(Self.event(report, of: delivery, id: id))
            }
            results.append(result)
        }
        if !events.isEmpty {
            guard await deliveries.note(events) != nil else { throw Failure.notStored }
            count(events)
        }
        return results
    }

    private static func event(_ report: SeenReport, of delivery: SentDelivery, id: DeliveryID) -> EventDraft {
        var event = EventDraft(report.what.event, app: delivery.app)
        event.messageID = delivery.message
        event.device = delivery.device
        event.deliveryID = id
        event.add("at", number: report.at)
        return event
    }

    private func count(_ events: [EventDraft]) {
        counts.withLock { counts in
            for event in events {
                guard let app = event.app else { continue }
                if event.kind == .deliveryOpened {
                    counts[app, default: Counts()].opened += 1
                } else {
                    counts[app, default: Counts()].displayed += 1
                }
            }
        }
    }
}
