import APNs
import PushModel
import PushPipeline
import PushTransport
import PushWire
import WebPush

/// The settings of an app as they are written, before the rules that combine several of them.
///
/// A setting whose default depends on others is nil until the rules apply.
struct AppDraft: Sendable {
    /// The push services by their names in the file.
    enum Service: String, Sendable, CaseIterable {
        case apns, fcm, webpush
    }

    var service = Service.apns
    var topic: BundleID?
    var environment: PushEnvironment?
    var credential = Credential()
    var wireProtocol = APNsSettings.WireProtocol.http2
    /// The gateway without connections, which the rules complete.
    var gateway = Configuration.Gateway()
    var connections = Connections()
    var feedback = Feedback()
    var endpoint = Endpoint()
    var broadcast = Broadcast()
    var limits = AppLimits()
    var timeZone: String?
    var appAppleID: Int?
    /// The number of messages a minute, for push services that count them.
    var perMinute: Int?
    var webPush = WebPush()

    /// The parts of all forms of a credential.
    struct Credential: Sendable {
        var key: String?
        var keyID: String?
        var teamID: String?
        var certificate: String?
        var passwordFile: String?
        var serviceAccount: String?
        var vapid: String?
        var formerVAPID: String?
        var subject: String?
    }

    /// What only apps for browsers have.
    struct WebPush: Sendable {
        var origins: [String]?
        var privateNetworks: [String]?
        var navigate: String?
        var title: String?
    }

    struct Connections: Sendable {
        var min: Int?
        var max: Int?
    }

    struct Feedback: Sendable {
        var host: String?
        var port: UInt16?
        var interval: Duration?
    }

    struct Endpoint: Sendable {
        var host: String?
        var port: UInt16?
        var trust: Configuration.Endpoint.Trust?
    }

    struct Broadcast: Sendable {
        var send: HostPort?
        var manage: HostPort?
    }

    init() {}

    init(_ app: Configuration.App) {
        gateway = app.gateway
        connections = Connections(min: app.gateway.connections.lowerBound, max: app.gateway.connections.upperBound)
        endpoint = Endpoint(host: app.endpoint.host, port: app.endpoint.port, trust: app.endpoint.trust)
        limits = app.limits
        timeZone = app.timeZone
        switch app.service {
        case .apns(let apns): copy(apns)
        case .fcm(let fcm):
            service = .fcm
            credential.serviceAccount = fcm.serviceAccount
            perMinute = fcm.perMinute
        case .webPush(let settings): copy(settings)
        }
    }

    private mutating func copy(_ settings: WebPushSettings) {
        service = .webpush
        credential.vapid = settings.vapid
        credential.formerVAPID = settings.formerVAPID
        credential.subject = settings.subject
        webPush = WebPush(
            origins: settings.origins.patterns,
            privateNetworks: settings.origins.privateNetworks.map(\.description), navigate: settings.navigate,
            title: settings.title)
    }

    private mutating func copy(_ apns: APNsSettings) {
        topic = apns.topic
        environment = apns.environment
        credential = Credential(apns.credential)
        wireProtocol = apns.wireProtocol
        feedback = Feedback(
            host: apns.feedback?.host, port: apns.feedback?.port, interval: apns.feedback?.interval)
        broadcast = Broadcast(send: apns.broadcast.send, manage: apns.broadcast.manage)
        appAppleID = apns.appAppleID
    }
}

extension AppDraft.Credential {
    init(_ credential: CredentialFiles) {
        switch credential {
        case .key(let key, let keyID, let teamID): self.init(key: key, keyID: keyID, teamID: teamID)
        case .pkcs12(let certificate, let password): self.init(certificate: certificate, passwordFile: password)
        case .pem(let certificate, let key, let password):
            self.init(key: key, certificate: certificate, passwordFile: password)
        }
    }
}
