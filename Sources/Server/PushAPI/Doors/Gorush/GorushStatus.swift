import PushLoop
package import PushModel

/// What the door has taken since the start.
package final class GorushCounts: Sendable {
    struct Values {
        var tokens: Int64 = 0
        var notifications: UInt64 = 0
    }

    private let values = Locked(Values())

    package init() {}

    func add(tokens: Int, notifications: Int) {
        values.withLock {
            $0.tokens += Int64(tokens)
            $0.notifications += UInt64(notifications)
        }
    }

    var now: Values { values.withLock { $0 } }
}

/// The counts of gorush.
package struct GorushStatusAnswer: JSONAnswer, Equatable {
    package struct Platform: Codable, Equatable, Sendable {
        package var success: UInt64 = 0
        package var failed: UInt64 = 0

        package enum CodingKeys: String, CodingKey {
            case success = "push_success"
            case failed = "push_error"
        }
    }

    package var version: String
    package var busyWorkers: Int64
    package var successTasks: UInt64
    package var failureTasks: UInt64
    package var submittedTasks: UInt64
    package var totalCount: Int64
    package var ios: Platform
    package var android: Platform
    package var huawei: Platform

    package enum CodingKeys: String, CodingKey {
        case version, ios, android, huawei
        case busyWorkers = "busy_workers"
        case successTasks = "success_tasks"
        case failureTasks = "failure_tasks"
        case submittedTasks = "submitted_tasks"
        case totalCount = "total_count"
    }

    package static var about: [String: String] {
        [
            "version": "The version of Carillon.", "busy_workers": "The deliveries that wait for an answer.",
            "success_tasks": "The deliveries of both apps that were sent.",
            "failure_tasks": "Those that were not.",
            "submitted_tasks": "The notifications that the door has taken.",
            "total_count": "The tokens in them.", "huawei": "Always 0.",
        ]
    }
}

/// `GET /api/stat/app`: the counts that monitors of gorush read. Those of platforms are of their apps, whoever pushed.
package struct GorushStatus: Endpoint {
    package static let path = "/api/stat/app"

    package static let operation = Operation(
        .get, at: path, id: "getGorushStats", access: .role(.push), subject: "Doors",
        summary: "Returns counts as gorush has them.", takesKeyField: true)

    private let apps: (ios: AppID?, android: AppID?)
    private let source: any PipelineStatistics
    private let counts: GorushCounts

    package init(ios: AppID?, android: AppID?, source: any PipelineStatistics, counts: GorushCounts) {
        (apps, self.source, self.counts) = ((ios, android), source, counts)
    }

    package func answer(_ input: NoInput, for caller: Caller) async throws -> Reply<GorushStatusAnswer> {
        let all = try await source.snapshot(of: nil, hasHistory: false)
        func app(_ id: AppID?) -> StatsAnswer.App? {
            guard let id, caller.allows(id) else { return nil }
            return all.apps.first { $0.app == id.name }
        }
        func platform(_ app: StatsAnswer.App?) -> GorushStatusAnswer.Platform {
            GorushStatusAnswer.Platform(
                success: app?.sent ?? 0, failed: (app?.rejected ?? 0) + (app?.expired ?? 0) + (app?.unknown ?? 0))
        }
        let (ios, android, own) = (app(apps.ios), app(apps.android), counts.now)
        let (first, second) = (platform(ios), platform(android))
        return Reply(
            GorushStatusAnswer(
                version: all.version ?? "", busyWorkers: Int64((ios?.inFlight ?? 0) + (android?.inFlight ?? 0)),
                successTasks: first.success + second.success, failureTasks: first.failed + second.failed,
                submittedTasks: own.notifications, totalCount: own.tokens, ios: first, android: second,
                huawei: GorushStatusAnswer.Platform()))
    }
}
