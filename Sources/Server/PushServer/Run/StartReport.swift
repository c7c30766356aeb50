import PushAPI

/// The endpoints and apps of a started server, which `serve` prints as text or JSON.
package struct StartReport: Codable, Sendable {
    package struct App: Codable, Sendable {
        package let app: String
        /// Left out for push services without them.
        package let environment: String?
        package let topic: String?
        package let `protocol`: String
        package let service: String
        /// The reason why nothing is sent for the app; left out if there is none.
        package let fault: String?
    }

    package let data: String
    package let control: String
    /// The URL of the port for health checks and metrics; left out if there is none.
    package let http: String?
    /// The endpoints for producers, `router` and `pull`, and for monitors, `publish` and `replay`. Those that are off
    /// are left out.
    package var router: String?
    package var pull: String?
    package var publish: String?
    package var replay: String?
    package let apps: [App]

    init(data: String, control: String, http: String?, endpoints: Pipeline.Endpoints?, apps: [ServedStatus]) {
        router = endpoints?.intake?.router
        pull = endpoints?.intake?.pull
        publish = endpoints?.events.publish
        replay = endpoints?.events.replay
        self.data = data
        self.control = control
        self.http = http
        self.apps = apps.map { served in
            App(
                app: served.app.id.name, environment: served.app.identity("environment"),
                topic: served.app.identity("topic"), protocol: served.app.wireProtocol,
                service: "\(served.app.endpoint.host):\(served.app.endpoint.port)", fault: served.fault)
        }
    }

    package var json: String { String(decoding: APIAnswer.json(self).body, as: UTF8.self) }
}
