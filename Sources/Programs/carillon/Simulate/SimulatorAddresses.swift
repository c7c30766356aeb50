import PushSimulator
import PushTransport
import PushWire

/// The addresses of a simulator, as text and as JSON.
struct SimulatorAddresses: Sendable {
    let provider: HostPort
    let binary: HostPort
    let feedback: HostPort
    let control: HostPort
    /// The port of the App Store, if it has one.
    let store: HostPort?
    /// The port of FCM, if it is simulated.
    let fcm: HostPort?
    /// The port of the push service of browsers, if it is simulated.
    let webPush: HostPort?

    init(_ service: SimulatorService, host: String) {
        provider = HostPort(host: host, port: service.providerAddress?.port ?? 0)
        binary = HostPort(host: host, port: service.binaryAddress?.port ?? 0)
        feedback = HostPort(host: host, port: service.feedbackAddress?.port ?? 0)
        control = HostPort(host: host, port: service.controlPort ?? 0)
        store = service.storePort.map { HostPort(host: host, port: $0) }
        fcm = service.fcm.map { HostPort(host: host, port: $0.port) }
        webPush = service.webPush.map { HostPort(host: host, port: $0.port) }
    }

    func json(_ files: SimulatorFiles) -> String {
        let quoted = { (text: String) in String(decoding: JSONValue.string(text).bytes, as: UTF8.self) }
        let account = quoted("\(files.directory)/\(SimulatorAccount.name)")
        let members = fcm.map { "\"fcm\":\($0.port),\"service_account\":\(account)," } ?? ""
        return "{\"provider\":\(provider.port),\"binary\":\(binary.port),\"feedback\":\(feedback.port),"
            + "\"control\":\(control.port),\(store.map { "\"store\":\($0.port)," } ?? "")"
            + members + "\(webPush.map { "\"webpush\":\($0.port)," } ?? "")\"ca\":\(quoted(files.authorityPath)),"
            + "\"key\":\(quoted(files.providerKeyPath)),\"key_id\":\"\(SimulatorFiles.keyID)\","
            + "\"team_id\":\"\(SimulatorFiles.teamID)\",\"certificate\":\(quoted(files.clientPath))}\n"
    }

    func text(_ files: SimulatorFiles) -> String {
        let output = Terminal.output
        let rows = [
            ["HTTP/2 provider API", "https://\(provider)"],
            ["legacy binary gateway", "tls://\(binary)"],
            ["feedback service", "tls://\(feedback)"],
            ["control port", "http://\(control)"],
            ["CA certificate", files.authorityPath],
            [
                "provider key",
                "\(files.providerKeyPath)  (key id \(SimulatorFiles.keyID), team \(SimulatorFiles.teamID))",
            ],
            ["client certificate", "\(files.clientPath)  (topic \(SimulatorFiles.clientTopic))"],
        ]
        var stores = store.map { [["App Store", "https://\($0)"]] } ?? []
        if let fcm {
            stores += [
                ["Firebase Cloud Messaging", "https://\(fcm)"],
                ["service account", "\(files.directory)/\(SimulatorAccount.name)"],
            ]
        }
        if let webPush { stores.append(["Web Push", "https://\(webPush)"]) }
        return output.colored("A simulated Apple push service is listening.", in: .bold) + "\n"
            + output.table(["what", "where"], rows: rows + stores)
            + (files.made.isEmpty ? "" : "Created: \(files.made.joined(separator: ", ")).\n")
    }
}
