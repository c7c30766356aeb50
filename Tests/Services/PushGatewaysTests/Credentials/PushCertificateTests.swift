import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import APNs
@testable import PushGateways

@Suite struct PushCertificateTests {
    private func credential(
        userID: String? = "com.example.shop", _ extensions: [CertificateRequest.Extension] = []
    ) throws -> CertificateCredential {
        let issued = try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "Apple Push Services", usage: .client, userID: userID, extensions: extensions))
        return CertificateCredential(issued.identity)
    }

    private let production = CertificateRequest.Extension(oid: PushCertificate.productionOID, value: [5, 0])
    private let development = CertificateRequest.Extension(oid: PushCertificate.developmentOID, value: [5, 0])

    private func topics(_ list: [(String, [String])], wrapped: Bool = false) -> CertificateRequest.Extension {
        let value = DER.topics(list.map { (name: $0.0, kinds: $0.1) })
        return .init(oid: PushCertificate.topicsOID, value: wrapped ? DER.element(4, value) : value)
    }

    @Test(arguments: [false, true]) func `Topics are those of the extension, each once`(wrapped: Bool) throws {
        let list = [("com.a", ["app"]), ("com.a.voip", ["voip"]), ("com.a", ["app", "beta"])]
        let certificate = try credential([topics(list, wrapped: wrapped), production]).certificate
        #expect(certificate.topics.map(\.name) == ["com.a", "com.a.voip"])
        #expect(certificate.topics[0].kinds.map(\.rawValue) == ["app", "beta"])
        #expect(certificate.environments == [.production])
    }

    @Test func `VoIP topics come from their own extension too`() throws {
        let voip = CertificateRequest.Extension(
            oid: PushCertificate.voipTopicsOID, value: DER.topics([("com.a.voip", [])]))
        let certificate = try credential([topics([("com.a", ["app"])]), voip]).certificate
        #expect(certificate.topics == [.init(name: "com.a", kinds: [.app]), .init(name: "com.a.voip", kinds: [.voip])])
    }

    @Test func `Without a list the UID is the topic, and without a UID there is none`() throws {
        #expect(try credential().certificate.topics == [.init(name: "com.example.shop", kinds: [])])
        #expect(try credential(userID: nil).certificate.topics.isEmpty)
        #expect(try credential().certificate.environments == [.production, .sandbox])
        #expect(try credential([development]).certificate.environments == [.sandbox])
        #expect(try credential([development, production]).certificate.environments == [.production, .sandbox])
    }

    @Test func `A certificate that covers the app is accepted`() throws {
        let shop = topics([("com.example.shop", ["app"]), ("com.example.shop.voip", ["voip"])])
        let credential = Credential.certificate(try credential([shop, production, development]))
        for environment in PushEnvironment.allCases {
            try credential.check(topic: "com.example.shop", environment: environment)
            try credential.check(
                topic: "com.example.shop", environment: environment, pushTypes: [.alert, .background, .voip])
        }
        let key = Credential.providerKey(
            try ProviderKey(teamID: "DEF123GHIJ", keyID: "ABC123DEFG", key: .generate()))
        try key.check(topic: "com.anything", environment: .sandbox, pushTypes: PushType.allCases)
    }

    @Test func `A certificate that does not cover the app is rejected with the reason`() throws {
        let shop = Credential.certificate(
            try credential([topics([("com.example.shop", ["app"]), ("com.example.shop.voip", ["voip"])]), production]))
        let none = Credential.certificate(try credential(userID: nil))
        let cases: [(Credential, String, PushEnvironment, [PushType], CredentialError.Code, String)] = [
            (
                shop, "com.example.other", .production, [], .wrongTopic,
                "does not cover the topic com.example.other; it covers com.example.shop, com.example.shop.voip; use the"
            ),
            (
                shop, "com.example.shop", .production, [.alert, .complication], .wrongTopic,
                "does not cover the topic com.example.shop.complication"
            ),
            (
                shop, "com.example.shop", .sandbox, [], .wrongEnvironment,
                "is for production, not for sandbox; use one for sandbox, or set the app's environment to production"
            ),
            (
                shop, "com.example.shop", .production, [.location], .needsProviderToken,
                "push type location cannot be sent with a certificate"
            ),
            (none, "com.example.shop", .production, [], .wrongTopic, "no topic, as it is not a push certificate"),
        ]
        for (credential, topic, environment, types, code, text) in cases {
            let error = credentialError {
                try credential.check(topic: topic, environment: environment, pushTypes: types)
            }
            #expect(error?.code == code)
            #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        }
    }

    // MARK: Hostile extensions

    @Test func `A list that is cut anywhere returns the complete tuples before the cut`() {
        let value = DER.topics([("com.a", ["app"]), ("com.a.voip", ["voip"]), ("com.b", ["app"])])
        #expect(TopicExtension.topics(value, kind: nil).map(\.name) == ["com.a", "com.a.voip", "com.b"])
        // The length of the list exceeds the remaining bytes.
        for count in 0..<value.count { #expect(TopicExtension.topics(Array(value[..<count]), kind: nil).isEmpty) }
        for count in 0..<(value.count - 2) {
            let cut = DER.element(0x30, Array(value.dropFirst(2)[..<(2 + count)]))
            let names = TopicExtension.topics(cut, kind: nil).map(\.name)
            #expect(["com.a", "com.a.voip", "com.b"].starts(with: names))
        }
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x80, 0, 0], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x85, 0, 0, 0, 0, 1], [4, 0],
            [4, 2, 4, 0], [5, 0], [0x30, 4, 0x0c, 2, 0x0a, 0x41], [0x30, 2, 0x0c, 0], [0x30, 4, 0x30, 2, 0x0c, 0],
        ] as [[UInt8]])
    func `A value that is not a list has no topics`(value: [UInt8]) {
        #expect(TopicExtension.topics(value, kind: nil).isEmpty)
    }

    @Test func `A list with too many topics is truncated`() {
        let many = DER.topics((0..<2000).map { (name: "com.\($0)", kinds: ["app"]) })
        #expect(TopicExtension.topics(many, kind: nil).count == TopicExtension.maxTopics)
    }

    @Test func `Mutated lists yield only printable topics`() {
        let value = DER.topics([("com.a", ["app"]), ("com.a.voip", ["voip"]), ("com.b", ["app"])])
        var random = SeededRandom(seed: 77)
        for _ in 0..<RunKind.rounds(20_000) {
            for topic in TopicExtension.topics(random.mutate(value, chance: 1), kind: nil) {
                #expect(topic.name.utf8.allSatisfy { 0x21...0x7e ~= $0 })
            }
        }
    }
}
