import PushLogic
import PushLoop

extension Logger {
    /// Logs the problems of the router that are new, and the end of problems for all apps.
    func reportChanges(from before: RouterTroubles, to now: RouterTroubles) {
        if now.everywhere.isEmpty, !before.everywhere.isEmpty { notice("messages are processed again") }
        for text in now.everywhere where !before.everywhere.contains(text) {
            error("messages wait, retrying", [.error: text])
        }
        for text in now.ofMessages where !before.ofMessages.contains(text) {
            warning("message waits, retrying", [.error: text])
        }
    }
}

extension RouterTroubles {
    /// The problems that do not prevent sending now, but that operators have to know.
    var warnings: [String] {
        guard damaged > 0 else { return ofMessages }
        let count = damaged == 1 ? "1 accepted message is" : "\(damaged) accepted messages are"
        return ofMessages + ["\(count) damaged and not sent: see the log, and restore the ledger from a backup"]
    }
}
