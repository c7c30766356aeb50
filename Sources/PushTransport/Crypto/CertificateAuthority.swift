private import COpenSSL
private import Glibc
package import PushLoop

/// Makes certificates: a root of its own, and servers and clients below it. All keys are P-256.
package final class CertificateAuthority: Sendable {
    package let certificate: CertificateInfo
    private let key: KeyHandle

    /// Makes a new root. `validity` nil: from an hour ago for ten years.
    package init(commonName: String, validity: CertificateValidity? = nil) throws(CryptoError) {
        key = try KeyHandle.newP256()
        var draft = try CertificateDraft(
            subject: commonName, userID: nil, validity: validity ?? .startingNow(days: 3650), key: key)
        try draft.add(NID_basic_constraints, "critical,CA:TRUE")
        try draft.add(NID_key_usage, "critical,keyCertSign,cRLSign")
        try draft.add(NID_subject_key_identifier, "hash")
        certificate = CertificateInfo(try draft.signed(by: key))
    }

    /// Takes up a root that was made before and kept as PEM.
    package init(certificate source: PEMSource, key keySource: PEMSource) throws(CryptoError) {
        let root = try source.certificates()[0]
        key = try keySource.privateKey(password: nil)
        OpenSSLErrors.clear()
        guard unsafe X509_check_private_key(root.pointer, key.pointer) == 1 else {
            throw CryptoError(
                .keyMismatch, "the key in \(keySource.name) does not belong to the certificate in \(source.name)")
        }
        guard unsafe X509_check_ca(root.pointer) > 0 else {
            throw CryptoError(.invalidRequest, "the certificate in \(source.name) is not one of an authority")
        }
        certificate = CertificateInfo(root)
    }

    package var certificatePEM: String { certificate.pem }

    /// To be kept as secret as whatever trusts this authority is dear.
    package var privateKeyPEM: String { key.privatePEMText }

    package func issue(_ request: CertificateRequest) throws(CryptoError) -> IssuedCertificate {
        try request.make(signer: key, issuer: certificate.certificate)
    }

    /// A certificate that stands for itself: no authority is behind it.
    package static func selfSigned(_ request: CertificateRequest) throws(CryptoError) -> IssuedCertificate {
        try request.make(signer: nil, issuer: nil)
    }
}

package struct CertificateValidity: Sendable {
    package var notBefore: WallTime
    package var notAfter: WallTime

    package init(notBefore: WallTime, notAfter: WallTime) {
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// From an hour ago, for clocks that differ.
    package static func startingNow(days: Int) -> CertificateValidity {
        let now = WallTime.current().milliseconds
        return CertificateValidity(
            notBefore: WallTime(milliseconds: now - 3_600_000),
            notAfter: WallTime(milliseconds: now + Int64(days) * 86_400_000))
    }
}

/// What a certificate is to say.
package struct CertificateRequest: Sendable {
    package enum Usage: Sendable {
        case server
        case client
        case serverAndClient
    }

    /// An extension by object identifier in dotted form, its value as DER.
    package struct Extension: Sendable {
        package var oid: String
        package var value: [UInt8]
        package var isCritical: Bool

        package init(oid: String, value: [UInt8], isCritical: Bool = false) {
            self.oid = oid
            self.value = value
            self.isCritical = isCritical
        }
    }

    package var commonName: String
    package var usage: Usage
    package var dnsNames: [String]
    package var ipAddresses: [String]
    /// The subject's attribute UID.
    package var userID: String?
    /// Nil: from an hour ago for 825 days.
    package var validity: CertificateValidity?
    package var extensions: [Extension]

    package init(
        commonName: String, usage: Usage, dnsNames: [String] = [], ipAddresses: [String] = [], userID: String? = nil,
        validity: CertificateValidity? = nil, extensions: [Extension] = []
    ) {
        self.commonName = commonName
        self.usage = usage
        self.dnsNames = dnsNames
        self.ipAddresses = ipAddresses
        self.userID = userID
        self.validity = validity
        self.extensions = extensions
    }

    /// `signer` nil: the new key signs itself.
    fileprivate func make(signer: KeyHandle?, issuer: X509Certificate?) throws(CryptoError) -> IssuedCertificate {
        let key = try KeyHandle.newP256()
        var draft = try CertificateDraft(
            subject: commonName, userID: userID, validity: validity ?? .startingNow(days: 825), key: key,
            issuer: issuer)
        try draft.add(NID_basic_constraints, "critical,CA:FALSE")
        try draft.add(NID_key_usage, "critical,digitalSignature")
        let usages =
            switch usage {
            case .server: "serverAuth"
            case .client: "clientAuth"
            case .serverAndClient: "serverAuth,clientAuth"
            }
        try draft.add(NID_ext_key_usage, usages)
        try draft.add(NID_subject_key_identifier, "hash")
        if issuer != nil {
            try draft.add(NID_authority_key_identifier, "keyid:always")
        }
        let names = try alternativeNames()
        if !names.isEmpty {
            try draft.add(NID_subject_alt_name, names)
        }
        for one in extensions {
            try draft.add(one)
        }
        let certificate = try draft.signed(by: signer ?? key)
        return IssuedCertificate(certificate: CertificateInfo(certificate), key: key)
    }

    /// In OpenSSL's notation, in which a comma would begin another name: hence the strictness.
    private func alternativeNames() throws(CryptoError) -> String {
        var names: [String] = []
        for name in dnsNames {
            let isPlain = name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "*"): true
                default: false
                }
            }
            guard isPlain, (1...253).contains(name.utf8.count) else {
                throw CryptoError(.invalidRequest, "not a host name: \"\(printable(name))\"")
            }
            names.append("DNS:\(name)")
        }
        for address in ipAddresses {
            var parsed = in6_addr()
            guard unsafe inet_pton(AF_INET, address, &parsed) == 1 || inet_pton(AF_INET6, address, &parsed) == 1 else {
                throw CryptoError(.invalidRequest, "not an IP address: \"\(printable(address))\"")
            }
            names.append("IP:\(address)")
        }
        return names.joined(separator: ",")
    }
}

/// A new certificate and its private key.
package struct IssuedCertificate: Sendable {
    package let certificate: CertificateInfo
    private let key: KeyHandle

    fileprivate init(certificate: CertificateInfo, key: KeyHandle) {
        self.certificate = certificate
        self.key = key
    }

    package var certificatePEM: String { certificate.pem }
    package var privateKeyPEM: String { key.privatePEMText }

    package var identity: TLSIdentity {
        TLSIdentity(certificate: certificate, key: key)
    }
}
