import PushGateways
import PushModel

extension Pipeline {
    /// Returns the receiver of the reports of an app's gateway: first the journal, then the router.
    func client(_ journal: GatewayJournal) -> GatewayClient {
        GatewayClient(on: router.loop) { [router, ledger] report in
            journal.take(report)
            router.report(report)
            let events = report.events.compactMap { $0.draft(of: report.app) }
            if !events.isEmpty { ledger.note(events, done: nil) }
        }
    }
}
