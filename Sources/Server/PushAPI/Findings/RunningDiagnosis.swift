import PushLogic
import PushModel
import PushText
package import PushTime

/// The conclusions from what a running Carillon knows about itself. It is the only place that decides what is wrong: the
/// console, `carillon doctor` and `GET /v1/findings` show it.
package struct RunningDiagnosis {
    /// A message that is due waits seconds; after this time something is in the way.
    static let maxWait = Duration.seconds(300)
    /// A push service answers within seconds.
    static let maxAnswer = Duration.seconds(15)
    /// More rejections in a minute than this share, and than this count, are worth a look.
    static let maxRejectedShare = 0.05
    static let maxRejected = 5.0
    /// The receiver of a webhook may be restarted. So many failures in a row take two minutes or more.
    package static let maxWebhookFailures = 10
    /// So many deferred attempts in a minute without one that was sent are worth a look.
    static let maxDeferred = 10.0

    let facts: RunningFacts

    package init(_ facts: RunningFacts) {
        self.facts = facts
    }

    /// All findings, in order of weight.
    package var findings: [Finding] {
        let readiness = readiness + paused
        // One cause is one finding.
        let blocked = Set(readiness.filter { $0.severity == .fault }.compactMap(\.app))
        let further = apps + (breakers + credentials).filter { !blocked.contains($0.app ?? "") }
        return (readiness + further + removedApps + refusedWebhooks + webhooks + lastMinute + configuration + losses)
            .byWeight
    }

    // MARK: Readiness

    private var readiness: [Finding] {
        let paused = pausedApps
        return facts.statistics.obstacles.compactMap { obstacle in
            if facts.warnings.contains(obstacle) { return Finding(.warning, .notReady, obstacle) }
            let found = finding(for: obstacle)
            return found.app.map(paused.contains) ?? false ? nil : found
        }
    }

    /// Returns the finding for an obstacle, whose text has its node and its app first, and its advice last.
    private func finding(for obstacle: String) -> Finding {
        let node = facts.statistics.nodes?.map(\.node).first { obstacle.hasPrefix("node \($0): ") }
        let rest = node.map { String(obstacle.dropFirst($0.count + 7)) } ?? obstacle
        let app = facts.statistics.apps.map(\.app).first { rest.hasPrefix("\($0): ") }
        let text = app.map { String(rest.dropFirst($0.count + 2)) } ?? rest
        var (what, advice) = (text, "see 'carillon stats' and the log")
        if text == facts.statistics.ledger?.fault {
            advice = "check the disk of the data directory: free space, and permission to write"
        } else if let fault = facts.gateways.first(where: { $0.app == app })?.fault, text.hasSuffix(fault.message),
            let known = fault.advice
        {
            advice = known
        } else if let end = text.ranges(of: "; ").last {
            (what, advice) = (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
        }
        return Finding(
            .fault, .notReady, node.map { "\(what), on node \($0)" } ?? what, of: app, advice: advice)
    }

    private var pausedApps: Set<String> { Set(facts.gateways.filter { $0.pausedAt != nil }.map(\.app)) }

    private var paused: [Finding] {
        facts.gateways.compactMap { gateway in
            gateway.pausedAt.map {
                Finding(
                    .warning, .paused,
                    "an operator has paused the app since \($0.iso8601); messages are accepted and wait",
                    of: gateway.app, advice: "'carillon resume \(gateway.app)' continues")
            }
        }
    }

    // MARK: Apps

    private var apps: [Finding] {
        let paused = pausedApps
        return facts.statistics.apps.flatMap { app in
            (paused.contains(app.app) ? [] : [backlog(of: app)]) + [slowAnswers(of: app), brake(of: app)]
        }.compactMap { $0 }
    }

    private func backlog(of app: StatsAnswer.App) -> Finding? {
        let wait = app.oldestWaitingMilliseconds ?? 0
        guard wait > Self.maxWait.wholeMilliseconds else { return nil }
        let count = app.waiting ?? 0
        return Finding(
            .warning, .backlog,
            "\(count == 1 ? "1 message waits" : "\(count) messages wait"); the oldest has been due for "
                + DurationText.age(wait / 1000), of: app.app, advice: advice(forBacklog: count, of: app.app))
    }

    private func advice(forBacklog count: UInt64, of app: String) -> String {
        let activities = facts.unaddressedActivities[app] ?? 0
        guard activities > 0, activities >= count / 2 else {
            if facts.openBreakers.contains(app) || facts.failing[app] != nil {
                return "the push service fails: see the finding breaker; messages are sent when it works again"
            }
            return "see the state of the app in 'carillon scale \(app)'; more connections may help"
        }
        return (activities == 1 ? "1 Live Activity waits" : "\(activities) Live Activities wait")
            + " for an address: register the update tokens before updates are sent"
            + (activities < UnaddressedActivities.maxCount ? "" : "; updates of other ones are answered busy")
    }

    private func slowAnswers(of app: StatsAnswer.App) -> Finding? {
        let wait = app.oldestUnansweredMilliseconds ?? 0
        guard wait > Self.maxAnswer.wholeMilliseconds else { return nil }
        return Finding(
            .warning, .slowAnswers,
            "the push service answers slowly: the oldest request waits for \(DurationText.age(wait / 1000))",
            of: app.app, advice: "see its connections in 'carillon scale \(app.app)'; a busy push service recovers")
    }

    private func brake(of app: StatsAnswer.App) -> Finding? {
        guard app.isBrakeOn == true else { return nil }
        var what = "too many tokens are rejected: devices are not deactivated until an operator has looked"
        var advice = "\(app.brakeAdvice ?? "check the settings of the app"), and 'carillon check --connect'"
        if let count = app.brakeDeactivated, let since = app.brakeDeactivatedSince {
            what +=
                "; \(count == 1 ? "1 device was" : "\(count) devices were") deactivated before, "
                + "since \(since.iso8601)"
        }
        if let since = app.brakeDeactivatedSince, let reason = app.brakeReason {
            advice +=
                ", then run 'carillon devices reactivate --app \(app.app) --reason \(reason) --since "
                + "\(since.iso8601) --dry-run', and again without --dry-run"
        }
        return Finding(.warning, .brake, what, of: app.app, advice: advice)
    }

    private var breakers: [Finding] {
        facts.openBreakers.sorted().map {
            Finding(
                .warning, .breaker, "the circuit breaker is open: connections to the push service fail", of: $0,
                advice: "see 'carillon scale \($0)' for the reason; it retries by itself")
        } + facts.failing.sorted { $0.key < $1.key }.map { failing(of: $0.key, $0.value) }
    }

    private func failing(of app: String, _ origins: [FailingOrigin]) -> Finding {
        let shown = origins.prefix(3).map(\.sentence).joined(separator: "; ")
        let more = origins.count > 3 ? "; and \(origins.count - 3) more" : ""
        let advice = origins.lazy.compactMap { $0.fault?.code.advice }.first
        return Finding(
            .warning, .breaker, "the circuit breaker is open for push services of browsers: \(shown)\(more)", of: app,
            advice: (advice.map { "\($0); " } ?? "") + "it retries by itself")
    }

    private var credentials: [Finding] {
        facts.credentials.flatMap { credential -> [Finding] in
            let fault = credential.fault.map {
                Finding(
                    credential.state == .unusable ? .fault : .warning, .credential, $0, of: credential.app,
                    at: credential.app ?? credential.file,
                    advice: "correct the files\(credential.app == nil ? "" : " of the app"), and run 'carillon reload'")
            }
            let end = credential.expiresAt.flatMap {
                Finding.expiry(
                    of: credential.app, at: credential.app ?? credential.file, $0, now: facts.statistics.at,
                    renewal: credential.renewal)
            }
            return [fault, end].compactMap { $0 }
        }
    }

    /// Messages of apps that are not in the configuration in force, such as after an app got another name.
    private var removedApps: [Finding] {
        let known = facts.statistics.apps.reduce(UInt64(0)) { $0.addingReportingOverflow($1.waiting ?? 0).partialValue }
        guard let all = facts.statistics.backlog?.waiting, all > known else { return [] }
        return [
            Finding(
                .warning, .backlog, "\(all - known) messages wait for apps that are not in the configuration",
                advice: "see 'carillon messages --state waiting'; add their apps again, or cancel the messages")
        ]
    }
}

extension Finding {
    /// A certificate that ends sooner than this needs a new one.
    private static let soon: Int64 = 30 * 86_400
    private static let renewal = "create a new one, replace the file, and run 'carillon reload'"

    /// Returns the finding about the end of a certificate; nil if it is valid for long enough.
    package static func expiry(
        of app: String?, at place: String?, _ end: WallTime, now: WallTime, renewal: String?
    ) -> Finding? {
        let left = end.milliseconds(since: now) / 1000
        guard left < soon else { return nil }
        return Finding(
            left <= 0 ? .fault : .warning, .credentialExpires,
            "the certificate \(left <= 0 ? "expired" : "expires") \(DurationText.distance(left))", of: app, at: place,
            advice: renewal ?? Self.renewal)
    }
}
