import PushLoop
import PushModel

/// Who is told of new addresses of Live Activities.
final class ActivityObserver: Sendable {
    typealias Observer = @Sendable (ActivityRegistration) -> Void

    private let observer = Locked<Observer?>(nil)

    func set(_ observer: @escaping Observer) { self.observer.withLock { $0 = observer } }

    func tell(app: String, activity: String) {
        guard let app = AppID(app) else { return }
        tell(.of(app, name: activity))
    }

    func tell(_ registration: ActivityRegistration) {
        observer.withLock { $0 }?(registration)
    }
}
