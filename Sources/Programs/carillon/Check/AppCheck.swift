import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushText

/// The check of one app: its files and, with `--connect`, the response of the push service.
struct AppCheck: Sendable {
    let app: Configuration.App
    /// The gateway of the app; nil if its credential or trust is faulty.
    let gateway: AppGateway?
    /// The fault in its files, if there is one.
    let fault: String?
    private(set) var warnings: [String]
    let now: WallTime
    /// The result of the connection attempt; nil if there was none.
    private(set) var verdict: Verdict?
    private(set) var address: String?
    private(set) var took: Duration?

    /// A certificate that expires within this many seconds causes a warning.
    private static let soon: Int64 = 30 * 86_400

    /// Reads the app's files.
    ///
    /// - Parameter warnsOfExpiry: Whether a certificate that expires soon is among the warnings.
    init(_ app: Configuration.App, timeout: Duration, now: WallTime, warnsOfExpiry: Bool = true) {
        self.app = app
        self.now = now
        do throws(Failure) {
            let gateway = try AppGateway.loadForTrial(app, timeout: timeout)
            self.gateway = gateway
            fault = nil
            warnings = gateway.warnings
            if warnsOfExpiry, let end = gateway.credentialEnd, end.seconds - now.seconds < Self.soon {
                warnings.append(
                    "the certificate expires \(DurationText.distance(end.seconds - now.seconds)); create a new one now"
                )
            }
        } catch {
            gateway = nil
            fault = error.description
            warnings = []
        }
    }

    /// - Parameter probe: The probe whose outcome is reported.
    mutating func conclude(_ report: Trial.Report, of probe: Probe) {
        address = report.address
        took = report.took
        verdict = Verdict(report.outcome, of: app.peer, by: probe)
    }

    var code: ExitCode {
        if fault != nil { return .configuration }
        return verdict?.kind.code ?? .done
    }
}
