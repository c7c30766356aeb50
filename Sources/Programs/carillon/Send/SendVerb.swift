import APNs
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushText
import PushTransport
import PushWire

/// `carillon send`: sends one notification directly through a gateway, without the pipeline, to try a credential; or, with
/// `--via`, submits it to a running Carillon as a producer does.
struct SendVerb {
    static let verb = Verb(
        name: "send", summary: "send one notification: directly to a push service, or through Carillon",
        details: """
            Sends one notification and shows the answer of the push service with its meaning, and with what to do \
            if it was refused.

            Without --via, it is sent directly, with the credential of an app of the configuration (--app) or with \
            one that the options name (--topic, --environment, and --key or --certificate). No Carillon needs to \
            run; this is the way to try a credential. With --via, the message is submitted to the intake of a \
            running Carillon as a producer does, and the acknowledgment is shown; devices can then be named by \
            token, id, user or tag.

            The content is an alert made of --title, --body and similar options, or the whole payload (--payload). \
            It is checked against the rules of its push type before anything is sent; --anyway sends it in spite \
            of findings, and --dry-run shows the request only. Other users can see the command line while the \
            command runs, so that device tokens are better read from a file.
            """,
        options: AppOptions.options + SendOrder.options + PayloadOptions.options + SendVia.options + [
            Option("anyway", about: "send even if the provider is known to reject the payload or the options"),
            Option("dry-run", about: "show the request, and send nothing"),
            Option("timeout", value: "TIME", about: "the limit for the whole command (20s)"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon send --app shop --token 00fc13… --title Hello", "through an app of the configuration"),
            (
                "carillon send --topic com.example.shop --environment sandbox --key AuthKey_ABC123DEFG.p8 "
                    + "--team-id DEF123GHIJ --token 00fc13… --title Hello",
                "without a configuration"
            ),
            (
                "carillon send --topic com.example.shop --environment production --certificate simulator/push.pem "
                    + "--host 127.0.0.1 --port 2197 --trust simulator/ca.pem --token 00fc13… --body Hello",
                "to a running simulator"
            ),
            ("carillon send --app shop --channel dHN0LXNyY2gtY2hubA== --payload update.json", "a broadcast"),
        ] + SendVia.examples
    ) { arguments in
        if arguments.has("token"), !arguments.has("json") {
            Terminal.error.write("carillon send: \(TokenOptions.caution)\n")
        }
        do {
            if SendVia.isSelected(by: arguments) { return try await SendVia(arguments).run() }
            try SendVia.refuse(arguments)
            return try await SendVerb(arguments).run()
        } catch let failure as Failure where arguments.has("json") && failure.code != .usage {
            Terminal.output.write(MachineLine.text(failure))
            return failure.code
        }
    }

    let arguments: Arguments
    let chosen: AppOptions.Chosen
    let order: SendOrder
    let timeout: Duration

    private init(_ arguments: Arguments) throws(Failure) {
        self.arguments = arguments
        timeout = try .timeout(arguments)
        chosen = try AppOptions.choose(arguments)
        guard chosen.app.serviceDescription.answers || timeout >= .seconds(3) else {
            throw Failure(
                .usage,
                "'--timeout' must be 3s or more with the binary protocol, which waits 2s for an error response")
        }
        order = try SendOrder(arguments, for: chosen.app, now: .current())
    }

    private var app: Configuration.App { chosen.app }
    private var isJSON: Bool { arguments.has("json") }

    private func run() async throws -> ExitCode {
        if !isJSON {
            for warning in chosen.warnings { Terminal.error.write("carillon send: warning: \(warning)\n") }
            for finding in order.findings { Terminal.error.write("carillon send: \(PlainText.line("\(finding)"))\n") }
        }
        let refused = order.refusedFindings
        if !refused.isEmpty, !arguments.has("anyway"), !arguments.has("dry-run") {
            let count = refused.count == 1 ? "1 fault" : "\(refused.count) faults"
            return show(
                SendReport(
                    order, app: app,
                    verdict: Verdict(
                        .badInput, "nothing was sent: the provider would reject it because of \(count)",
                        advice: "correct it, or send it with --anyway")))
        }
        switch order.target {
        case .device(let token, let id):
            let gateway = try AppGateway.loadForTrial(app, timeout: timeout)
            warn(gateway)
            if arguments.has("dry-run") {
                return preview(
                    gateway.service.connector.preview(
                        of: order.message, deliveryID: id, to: app.address, tokenSize: token.size))
            }
            return await push(
                gateway, delivery: Delivery(ticket: 1, message: order.message, token: token, deliveryID: id))
        case .channel(let channel):
            let channels = try AppChannels(app, timeout: timeout)
            warn(channels.gateway)
            if arguments.has("dry-run") { return preview(channels.preview(of: order.message, to: channel)) }
            return await broadcast(channels, to: channel)
        }
    }

    private func warn(_ gateway: AppGateway) {
        guard !isJSON else { return }
        for warning in gateway.warnings { Terminal.error.write("carillon send: warning: \(warning)\n") }
    }

    private func push(_ gateway: AppGateway, delivery: Delivery) async -> ExitCode {
        let dependencies = TrialDependencies()
        let trial = await gateway.trial(delivery, timeout: timeout, on: dependencies).run(on: dependencies.loop)
        await dependencies.end()
        var report = SendReport(order, app: app, verdict: Verdict(trial.outcome, of: app.peer))
        report.address = trial.address
        report.took = trial.took
        // If the service answers errors only, the latency is the time spent waiting for one.
        if app.serviceDescription.answers { report.latency = trial.latency }
        report.notes = trial.notes
        return show(report)
    }

    private func broadcast(_ channels: AppChannels, to channel: ChannelID) async -> ExitCode {
        let broadcast = Broadcast(
            order.message.payload, to: channel, expiration: order.message.expiry.expiresAt ?? 0,
            priority: order.message.priority)
        let begun = MonotonicTime.current()
        let result = await channels.call(.sending) { client, bundle, token in
            try await client.send(broadcast, of: bundle, token: token)
        }
        let verdict: Verdict =
            switch result {
            case .success: Verdict(.accepted, "the provider accepted the broadcast; it does not report delivery")
            case .failure(let error): error.verdict
            }
        var report = SendReport(order, app: app, verdict: verdict)
        if case .success = result { report.verdict.isAnswered = true }
        report.address = "\(channels.endpoint(of: .sending))"
        report.took = MonotonicTime.current() - begun
        return show(report)
    }

    private func preview(_ request: RequestPreview) -> ExitCode {
        let preview = SendPreview(order, request: request)
        Terminal.output.write(isJSON ? preview.json : preview.text(on: Terminal.output))
        return order.refusedFindings.isEmpty || arguments.has("anyway") ? .done : .badInput
    }

    private func show(_ report: SendReport) -> ExitCode {
        Terminal.output.write(isJSON ? report.json : report.text(on: Terminal.output))
        return report.verdict.kind.code
    }
}
