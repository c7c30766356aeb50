/// What concerns the whole of a running Carillon.
extension RunningDiagnosis {
    var lastMinute: [Finding] {
        let minute = facts.lastMinute
        let all = minute.sent + minute.rejected
        var found: [Finding] = []
        // An open circuit breaker is the finding of the app, and so is an app that is not ready.
        if all == 0, minute.deferred >= Self.maxDeferred, facts.openBreakers.isEmpty, facts.failing.isEmpty,
            facts.statistics.ready
        {
            found.append(
                Finding(
                    .warning, .deferrals,
                    "nothing was sent in the last minute: push services deferred all \(Self.whole(minute.deferred)) "
                        + "attempts",
                    advice: "'carillon events --prefix delivery/' names the reasons; with TooManyRequests, devices are "
                        + "sent to more often than their push service allows"))
        }
        if minute.rejected >= Self.maxRejected, minute.rejected > all * Self.maxRejectedShare {
            found.append(
                Finding(
                    .warning, .rejections,
                    "push services rejected \(Self.whole(minute.rejected)) of \(Self.whole(all)) notifications in the "
                        + "last minute",
                    advice: "'carillon events --prefix delivery/' names the reasons; old tokens are normal, and "
                        + "rejections for any other reason are not"))
        }
        if minute.lostAnswers >= 1 {
            found.append(
                Finding(
                    .warning, .unknownOutcomes,
                    "\(Self.count(Self.whole(minute.lostAnswers), of: "attempt")) in the last minute got no answer",
                    advice: "what was not answered is sent again, unless its message says on_unknown: drop"))
        }
        if minute.busy >= 1 {
            found.append(
                Finding(
                    .warning, .intakeFull,
                    "producers were asked \(Self.count(Self.whole(minute.busy), of: "time")) in the last minute to come again",
                    advice: facts.statistics.ledger?.fault == nil
                        ? "a gateway may be too slow for the load: see 'carillon scale'"
                        : "the ledger cannot write: 'carillon stats' says why"))
        }
        return found
    }

    /// Webhooks whose settings in the configuration could not be used.
    var refusedWebhooks: [Finding] {
        let running = Set(facts.webhooks.map(\.name))
        return facts.webhookFaults.sorted { $0.key < $1.key }.map { name, fault in
            Finding(
                .warning, .webhook,
                "\(fault); it \(running.contains(name) ? "goes on with its earlier settings" : "has not begun")",
                at: "webhook \(name)", advice: "correct this, and run 'carillon reload'")
        }
    }

    var webhooks: [Finding] {
        facts.webhooks.compactMap { webhook -> Finding? in
            let events = webhook.lag == 1 ? "1 event number" : "\(webhook.lag) event numbers"
            switch webhook.state {
            case .disabled where webhook.reason == .damaged:
                return finding(
                    of: webhook, "its position could not be read, and it gets nothing; it is \(events) behind",
                    advice: "'carillon webhooks \(webhook.name) resume' sends everything that is kept again; after "
                        + "'seek N', only the events after number N")
            case .disabled:
                return finding(
                    of: webhook, "the receiver has answered 410, and gets nothing more; it is \(events) behind",
                    advice: "'carillon webhooks \(webhook.name) resume' continues; or remove it from the configuration")
            case .paused:
                return finding(
                    of: webhook, "an operator has paused it; it is \(events) behind",
                    advice: "'carillon webhooks \(webhook.name) resume' continues")
            case .idle, .reading, .sending, .unowned, .backingOff:
                guard webhook.failures >= Self.maxWebhookFailures else { return nil }
                let last = webhook.lastStatus.map { "answered \($0)" } ?? webhook.lastFault ?? "did not answer"
                return finding(
                    of: webhook,
                    "the receiver has not taken the last \(webhook.failures) requests: \(last); it is \(events) behind",
                    advice: "repair \(webhook.host); what is older than events.retention is skipped")
            }
        }
    }

    private func finding(of webhook: WebhookAnswer, _ what: String, advice: String) -> Finding {
        Finding(.warning, .webhook, what, at: "webhook \(webhook.name)", advice: advice)
    }

    var configuration: [Finding] {
        let restart = facts.differences.filter { $0.applies == "restart" }.map(\.path)
        let reload = facts.differences.filter { $0.applies != "restart" }.map(\.path)
        var found: [Finding] = []
        if !restart.isEmpty {
            found.append(
                Finding(
                    .warning, .restartNeeded, "these settings of the file need a restart: \(Self.list(restart))",
                    at: facts.file, advice: "restart Carillon"))
        }
        if !reload.isEmpty {
            found.append(
                Finding(
                    .note, .restartNeeded, "these settings of the file are not in force: \(Self.list(reload))",
                    at: facts.file, advice: "run 'carillon reload'"))
        }
        return found
    }

    var losses: [Finding] {
        let losses = facts.losses
        var found: [Finding] = []
        if losses.events > 0 {
            found.append(
                Finding(
                    .warning, .eventsLost,
                    "since the start, the ledger could not write \(Self.count("\(losses.events)", of: "event"))",
                    advice: "check the disk; what was not written is not in any record"))
        }
        if losses.published > 0 {
            found.append(
                Finding(
                    .warning, .deafSubscribers,
                    "since the start, subscribers that did not read missed \(Self.count("\(losses.published)", of: "event"))",
                    advice: "find the slow monitor; it can replay what it missed"))
        }
        if losses.acks > 0 {
            found.append(
                Finding(
                    .note, .deafSubscribers,
                    "since the start, \(Self.count("\(losses.acks)", of: "acknowledgment")) did not reach producers, which "
                        + "had disconnected or did not read",
                    advice: "producers send such messages again, which is safe"))
        }
        return found
    }

    private static func whole(_ number: Double) -> String { Int64(exactly: number.rounded()).map { "\($0)" } ?? "many" }

    private static func count(_ number: String, of word: String) -> String {
        "\(number) \(word)\(number == "1" ? "" : "s")"
    }

    private static func list(_ paths: [String]) -> String {
        paths.prefix(5).joined(separator: ", ") + (paths.count > 5 ? " and \(paths.count - 5) more" : "")
    }
}
