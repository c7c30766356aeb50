import PushLogic
import PushModel

/// What the router asks the ledger and the registry. Their answers come onto its loop, a batch at a time.
extension Router {
    func ask(_ actions: RouterActions) {
        for load in actions.loads { ask(load) }
        if let due = actions.due { ask(due) }
        if !actions.claims.isEmpty { claim(actions.claims, for: actions.claimants) }
        for page in actions.pages { ask(page) }
    }

    private func ask(_ load: RouterActions.LoadRequest) {
        ledger.load(load.seqs) { [weak self] result in
            self?.answer { $0.machine.loaded(result, lane: load.lane, seqs: load.seqs) }
        }
    }

    private func ask(_ due: RouterActions.DueRequest) {
        ledger.due(at: due.time, limit: due.limit) { [weak self] result in
            self?.answer { $0.machine.due(result) }
        }
    }

    private func claim(_ pages: [ClaimPage], for messages: [Int]) {
        ledger.claim(pages) { [weak self] verdicts in
            self?.answer { $0.machine.claimed(messages, verdicts) }
        }
    }

    /// A task for a page of a thousand devices, never for a delivery.
    private func ask(_ page: RouterActions.PageRequest) {
        pagesAwaited += 1
        // Not on the loop: an answer that comes after the loop has stopped is dropped, as the ledger's are.
        Task.detached { [weak self, registry] in
            let result: PageResult
            do {
                result = .page(
                    try await registry.page(of: page.audience, app: page.app, after: page.after, limit: page.limit))
            } catch let fault as AudienceFault {
                result = .refused(fault.description)
            } catch let fault as BadCursor {
                // The cursor is of the registry's own making: to ask again would bring the same.
                result = .refused(fault.description)
            } catch {
                result = .failed("\(error)")
            }
            self?.answer {
                $0.pagesAwaited -= 1
                switch result {
                case .page(let devices): $0.machine.pageCame(page.message, devices)
                case .refused(let text): $0.machine.pageRefused(page.message, text)
                case .failed(let text): $0.machine.pageFailed(page.message, text)
                }
            }
        }
    }
}

private enum PageResult {
    case page(AudiencePage)
    /// That audience can never be answered.
    case refused(String)
    /// The next time it may be.
    case failed(String)
}
