import PushLoop
import PushModel

/// Who is told of new addresses of Live Activities.
final class ActivityObserver: Sendable {
    typealias Observer = @Sendable (AppID, String) -> Void

    private let observer = Locked<Observer?>(nil)

    func set(_ observer: @escaping Observer) { self.observer.withLock { $0 = observer } }

    var isSet: Bool { observer.withLock { $0 != nil } }

    func tell(app: String, activity: String) {
        guard let app = AppID(app), let observer = observer.withLock({ $0 }) else { return }
        observer(app, activity)
    }
}
