import PushLoop
import Testing

@testable import PushSimulator

@Suite struct ProviderTokenTests {
    private func bearer(_ jwt: String) -> [String: String?] { ["authorization": "bearer \(jwt)"] }

    static let malformed: [String] = [
        "", "a", "a.b", "..", "a.b.c.d",
        Provider.jwt(header: #"{"alg":"none","kid":"ABC123DEFG"}"#),
        Provider.jwt(header: #"{"alg":"HS256","kid":"ABC123DEFG"}"#),
        Provider.jwt(header: #"{"alg":"ES256"}"#), Provider.jwt(header: #"{"alg":"ES256","kid":7}"#),
        Provider.jwt(header: #"["alg"]"#), Provider.jwt(header: #"{alg:"ES256",kid:"ABC123DEFG"}"#),
        Provider.jwt(claims: #"{"iat":1767225600}"#), Provider.jwt(claims: #"{"iss":"DEF123GHIJ"}"#),
        Provider.jwt(claims: #"{"iss":"DEF123GHIJ","iat":"1767225600"}"#),
        Provider.jwt(claims: #"{"iss":"DEF123GHIJ","iat":1767225600.5}"#),
        Provider.jwt(claims: #"{"iss":"DEF123GHIJ","iat":1e300}"#),
        Provider.jwt(key: "UNKNOWN000"), Provider.jwt(team: "TEAM000002"), Provider.jwt(key: "OTHERTEAM0"),
        Provider.jwt(signature: { $0.dropLast() + [$0.last! ^ 1] }), Provider.jwt(signature: { Array($0.dropLast()) }),
        Provider.jwt(signature: { $0 + [0] }), Provider.jwt(signature: { _ in [] }),
        Provider.jwt() + "=", Provider.jwt() + ".", " " + Provider.jwt(), String(repeating: "a", count: 5000),
    ]

    @Test("A malformed provider token is rejected", arguments: malformed)
    func refuses(_ jwt: String) throws {
        let provider = try Provider()
        let expected: Reason = jwt.isEmpty ? .missingProviderToken : .invalidProviderToken
        #expect(provider.send(bearer(jwt)).reason == expected)
        // The second rejection uses the cached result; a valid token is accepted after it.
        #expect(provider.send(bearer(jwt)).reason == expected)
        #expect(provider.send().status == 200)
    }

    @Test("Every truncated or changed token is rejected")
    func refusesEveryTruncationAndEveryChange() throws {
        let jwt = Provider.jwt()
        let provider = try Provider()
        for length in 1..<jwt.utf8.count { #expect(provider.send(bearer(String(jwt.prefix(length)))).status == 403) }
        for place in jwt.utf8.indices {
            var bytes = Array(jwt.utf8)
            let offset = jwt.utf8.distance(from: jwt.utf8.startIndex, to: place)
            bytes[offset] = bytes[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(provider.send(bearer(String(decoding: bytes, as: UTF8.self))).status == 403)
        }
    }

    @Test("A token expires after an hour")
    func ages() throws {
        let provider = try Provider()
        #expect(provider.send(at: noon).status == 200)
        #expect(provider.send(at: after(3600)).status == 200)
        #expect(provider.send(at: after(3601)).reason == .expiredProviderToken)
        #expect(provider.send(at: after(3602)).reason == .expiredProviderToken)
        #expect(provider.send(bearer(Provider.jwt(at: after(3602))), at: after(3602)).status == 200)
    }

    @Test("A token from the future is rejected")
    func refusesTheFuture() throws {
        let provider = try Provider()
        #expect(provider.send(bearer(Provider.jwt(at: after(61)))).reason == .invalidProviderToken)
        // The rejection is temporary, so it is not cached.
        #expect(provider.send(bearer(Provider.jwt(at: after(61))), at: after(1)).status == 200)
    }

    @Test("An expired token wedges the connection only if this is enabled")
    func wedgesOnlyIfToldTo() throws {
        for wedges in [false, true] {
            let provider = try Provider(Provider.settings { $0.tokens.wedgesAfterExpired = wedges })
            #expect(provider.send(at: after(4000)).reason == .expiredProviderToken)
            let fresh = provider.send(bearer(Provider.jwt(at: after(4000))), at: after(4000))
            #expect(fresh.reason == (wedges ? .expiredProviderToken : .none))
            provider.reconnect()
            #expect(provider.send(bearer(Provider.jwt(at: after(4000))), at: after(4000)).status == 200)
        }
    }

    @Test("A connection accepts a new token every 20 minutes")
    func allowsOneTokenInTwentyMinutes() throws {
        let provider = try Provider()
        #expect(provider.send().status == 200)
        let early = provider.send(bearer(Provider.jwt(at: after(1199))), at: after(1199))
        #expect(early.reason == .tooManyProviderTokenUpdates)
        #expect(early.status == 429)
        #expect(provider.send(at: after(1199)).status == 200, "the old token is still valid")
        #expect(provider.send(bearer(Provider.jwt(at: after(1200))), at: after(1200)).status == 200)
        provider.reconnect()
        #expect(
            provider.send(bearer(Provider.jwt(at: after(1201))), at: after(1201)).status == 200,
            "the limit applies per connection")

        let lenient = try Provider(Provider.settings { $0.tokens.minRenewalInterval = 0 })
        #expect(lenient.send().status == 200)
        #expect(lenient.send(bearer(Provider.jwt(at: after(1))), at: after(1)).status == 200)
    }

    @Test("A connection is bound to the team and key of its first token")
    func bindsAConnectionToItsTeamAndKey() throws {
        let provider = try Provider()
        #expect(provider.send().status == 200)
        let later = after(1500)
        #expect(
            provider.send(bearer(Provider.jwt(key: "TOPICS0000", at: later)), at: later).reason
                == .unrelatedKeyIDInToken)
        let other = bearer(Provider.jwt(key: "OTHERTEAM0", team: "TEAM000002", at: later))
        #expect(provider.send(other, at: later).reason == .invalidProviderToken)
        #expect(provider.send(at: later).status == 200)
        provider.reconnect()
        #expect(provider.send(other, at: later).status == 200)
    }

    @Test("A key of one environment is rejected in the other")
    func knowsTheEnvironmentOfAKey() throws {
        let jwt = bearer(Provider.jwt(key: "SANDBOX000"))
        #expect(try Provider().send(jwt).reason == .badEnvironmentKeyIDInToken)
        #expect(try Provider(environment: .sandbox).send(jwt).status == 200)
    }

    @Test("A key for certain topics allows only these topics")
    func knowsTheTopicsOfAKey() throws {
        let provider = try Provider()
        var request = bearer(Provider.jwt(key: "TOPICS0000"))
        #expect(provider.send(request).status == 200)
        request["apns-topic"] = "com.example.other"
        #expect(provider.send(request).reason == .topicDisallowed)
        request["apns-topic"] = "com.example.shop.voip"
        request["apns-push-type"] = "voip"
        #expect(provider.send(request).status == 200, "the topic of the bundle id with a suffix is allowed")
        request["apns-topic"] = "com.example.other.voip"
        #expect(provider.send(request).reason == .topicDisallowed)
    }

    @Test("The first valid token raises the stream limit")
    func liftsTheStreamLimitWithTheFirstValidToken() throws {
        let provider = try Provider()
        #expect(provider.connection.streamLimit == 1)
        #expect(provider.send(bearer("x")).streamLimit == nil)
        #expect(provider.connection.streamLimit == 1)
        // The token counts as valid even if the notification is invalid.
        #expect(provider.send(["apns-priority": "7"]).streamLimit == 1000)
        #expect(provider.connection.streamLimit == 1000)
        #expect(provider.send().streamLimit == nil)

        let open = try Provider(Provider.settings { $0.beginsWithOneStream = false })
        #expect(open.connection.streamLimit == 1000)
        #expect(open.send().streamLimit == nil)
        let certified = try Provider(certificate: CertificateIdentity(userID: "com.example.shop"))
        #expect(certified.connection.streamLimit == 1000)
    }

    @Test("Without keys, any signature is accepted")
    func takesAnySignatureWithoutKeys() throws {
        let provider = try Provider(Provider.settings { $0.keys = [] })
        #expect(provider.send(bearer(Provider.jwt(key: "WHATEVER00", signature: { $0.map { ~$0 } }))).status == 200)
        #expect(provider.send(bearer("x")).reason == .invalidProviderToken)
        #expect(provider.send(["authorization": nil]).reason == .missingProviderToken)
    }

    @Test("Without required authentication, a request needs no token")
    func asksForNothingIfToldTo() throws {
        let provider = try Provider(Provider.settings { $0.requiresAuthentication = false })
        #expect(provider.connection.streamLimit == 1000, "no token would raise the limit")
        #expect(provider.send(["authorization": nil]).status == 200)
        #expect(provider.send(bearer("x")).reason == .invalidProviderToken, "a token that is sent is checked")
    }

    @Test("A signature in DER is accepted with a warning")
    func takesDERWithAWarning() throws {
        func der(_ raw: [UInt8]) -> [UInt8] {
            func number(_ half: ArraySlice<UInt8>) -> [UInt8] {
                var digits = Array(half.drop { $0 == 0 })
                if digits[0] & 0x80 != 0 { digits.insert(0, at: 0) }
                return [0x02, UInt8(digits.count)] + digits
            }
            let body = number(raw[0..<32]) + number(raw[32...])
            return [0x30, UInt8(body.count)] + body
        }
        let provider = try Provider()
        #expect(provider.send(bearer(Provider.jwt(signature: der))).status == 200)
        #expect(provider.warnings == .signatureAsDER)
        let broken = bearer(Provider.jwt(at: after(-1), signature: { Array(der($0).dropLast()) }))
        #expect(try Provider().send(broken).reason == .invalidProviderToken)
    }

    @Test("A token is verified only once")
    func verifiesATokenOnce() throws {
        var verified = 0
        let provider = try Provider(signatures: { key, input, signature in
            verified += 1
            return Provider.check(key, input, signature)
        })
        for _ in 0..<10 { #expect(provider.send().status == 200) }
        #expect(verified == 1)
        let bad = bearer(Provider.jwt(at: after(-1), signature: { $0.map { ~$0 } }))
        for _ in 0..<10 { #expect(provider.send(bad).status == 403) }
        #expect(verified == 2)
    }
}

@Suite struct CertificateTests {
    /// Encodes a SEQUENCE of pairs of UTF8String and SEQUENCE { UTF8String }.
    static func topics(_ names: [String]) -> [UInt8] {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            content.count < 128
                ? [tag, UInt8(content.count)] + content
                : [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
        }
        let pairs = names.flatMap { element(0x0c, Array($0.utf8)) + element(0x30, element(0x0c, Array("app".utf8))) }
        return element(0x30, pairs)
    }

    static let names = [
        "com.example.shop", "com.example.shop.voip", "com.example.shop.complication",
        String(repeating: "long", count: 40),
    ]

    @Test("The topics of a certificate are read, and a truncated extension is ignored")
    func readsTopics() {
        let list = Self.topics(Self.names)
        let expected = Self.names.map { Array($0.utf8) }
        #expect(CertificateIdentity(userID: "u", topicLists: [list]).topics == expected)
        let wrapped = [0x04, 0x82, UInt8(list.count >> 8), UInt8(list.count & 255)] + list
        #expect(CertificateIdentity(userID: "u", topicLists: [wrapped]).topics == expected)
        #expect(CertificateIdentity(userID: "u").topics == [Array("u".utf8)])
        for length in 0..<list.count {
            #expect(CertificateIdentity(userID: "u", topicLists: [Array(list[..<length])]).topics == [Array("u".utf8)])
        }
    }

    @Test("A request with a certificate needs no token")
    func needsNoToken() throws {
        let provider = try Provider(certificate: CertificateIdentity(userID: "com.example.shop"))
        #expect(provider.send(["authorization": nil]).status == 200)
        #expect(
            provider.send(["authorization": "nonsense"]).status == 200, "the token is ignored if there is a certificate"
        )
    }

    @Test("A certificate with one topic implies it, and with several topics requires the header")
    func standsForItsOnlyTopic() throws {
        let single = try Provider(certificate: CertificateIdentity(userID: "com.example.shop"))
        #expect(single.send(["apns-topic": nil]).status == 200)
        #expect(single.send(["apns-topic": "com.example.other"]).reason == .topicDisallowed)
        let identity = CertificateIdentity(userID: "com.example.shop", topicLists: [Self.topics(Self.names)])
        let several = try Provider(certificate: identity)
        #expect(several.send(["apns-topic": nil]).reason == .missingTopic)
        #expect(several.send().status == 200)
        #expect(several.send(["apns-topic": "com.example.shop.voip", "apns-push-type": "voip"]).status == 200)
        #expect(
            several.send(["apns-topic": "com.example.shop.voip-ptt", "apns-push-type": "pushtotalk"]).reason
                == .topicDisallowed)
    }

    @Test("A certificate is valid in its environments only")
    func isForItsEnvironment() throws {
        let development = CertificateIdentity(userID: "com.example.shop", isDevelopment: true)
        #expect(try Provider(certificate: development).send().reason == .badCertificateEnvironment)
        #expect(try Provider(certificate: development, environment: .sandbox).send().status == 200)
        let both = CertificateIdentity(userID: "com.example.shop", isDevelopment: true, isProduction: true)
        #expect(try Provider(certificate: both).send().status == 200)
    }

    @Test(
        "Location and Live Activity notifications need a provider token",
        arguments: [("location", ".location-query"), ("liveactivity", ".push-type.liveactivity")])
    func cannotSendWhatIsForTokens(type: String, suffix: String) throws {
        let topic = "com.example.shop" + suffix
        let certified = try Provider(certificate: CertificateIdentity(userID: topic))
        #expect(certified.send(["apns-push-type": type, "apns-topic": topic]).reason == .topicDisallowed)
        #expect(try Provider().send(["apns-push-type": type, "apns-topic": topic]).status == 200)
    }
}
