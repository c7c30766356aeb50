import PushLoop
import PushStore

extension RegistryEngine {
    /// How often addresses of Live Activities are looked for that have ended.
    private static var interval: Duration { .seconds(300) }

    /// Ends and removes addresses of Live Activities when it is time, until the task is canceled.
    func keepTidy(log: Logger) async {
        while !Task.isCancelled {
            do {
                while try await tidyActivities(), !Task.isCancelled {}
            } catch {
                if Task.isCancelled { return }
                log.warning("cannot end addresses of Live Activities, retrying", [.error: "\(error)"])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
