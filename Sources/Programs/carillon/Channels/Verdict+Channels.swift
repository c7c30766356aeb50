import APNs
import PushConfiguration
import PushGateways
import PushText

extension Verdict {
    /// Creates the verdict for a failed request about broadcast channels.
    init(_ error: ChannelError, of app: Configuration.App, at address: String) {
        switch error {
        case .refused(let refusal, _):
            self.init(refusal, by: app.reasons)
        case .unreadable(let what):
            self.init(.unknown, "cannot parse the provider's response: \(what)", advice: "list the channels")
        case .notSent(let why):
            self.init(
                .unreachable, "\(address): nothing was sent: \(why)",
                advice:
                    "check the host and port, the trusted CA (\(app.endpoint.trust)), and that firewalls allow the connection"
            )
        case .timedOut(let time, wasSent: false):
            self.init(
                .tryAgain, "timed out: nothing could be sent to \(address) within \(DurationText.write(time))",
                advice: "check that this machine can reach it, or give more time with --timeout")
        case .unanswered, .timedOut, .cancelled, .busy, .closed:
            self.init(.unknown, "\(error)", advice: "check the result before you repeat the command")
        }
    }
}
