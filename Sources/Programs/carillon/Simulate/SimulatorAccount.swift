import FoundationEssentials
import PushLoop
import PushSimulator
import PushTransport
import PushWire

/// The service account of the simulated FCM: `firebase.json` in the directory of the simulator, as the Firebase console
/// makes it. Its key is made once; the address of the token endpoint follows the port.
struct SimulatorAccount: Sendable {
    static let name = "firebase.json"
    static let project = "carillon-simulator"
    private static let email = "simulator@carillon-simulator.iam.gserviceaccount.com"
    private static let keyID = "simulator1"

    let path: String
    /// Whether this start makes it.
    let isNew: Bool
    private let key: RS256PrivateKey

    init(directory: String) throws {
        path = "\(directory)/\(Self.name)"
        if let bytes = FileManager.default.contents(atPath: path), let json = try? JSONDocument(Array(bytes)),
            let pem = json.value("private_key", in: json.root).flatMap({ json.string($0) })
        {
            key = try RS256PrivateKey(pem: .text(pem))
            isNew = false
        } else {
            key = try RS256PrivateKey.generate()
            isNew = true
        }
    }

    var account: FCMAccount {
        FCMAccount(project: Self.project, email: Self.email, keyID: Self.keyID, key: key.publicKey)
    }

    /// Writes the file with the address of the token endpoint.
    func write(tokenAddress: String) throws(Failure) {
        let members: [String: JSONValue] = [
            "type": "service_account", "project_id": .string(Self.project), "private_key_id": .string(Self.keyID),
            "private_key": .string(key.pem), "client_email": .string(Self.email), "token_uri": .string(tokenAddress),
        ]
        do throws(SystemError) {
            try WholeFile.write(
                JSONValue.object(members).bytes + [UInt8(ascii: "\n")], to: path, isSecret: true, until: .content)
        } catch {
            throw Failure(.failed, "cannot write \(path): \(error); check the disk, or choose another with --data")
        }
    }
}
