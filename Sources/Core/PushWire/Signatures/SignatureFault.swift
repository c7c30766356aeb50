/// The reason why header fields of the authentication cannot be used.
package enum SignatureFault: String, Error, Sendable, CaseIterable {
    case malformedInput = "Signature-Input is malformed"
    case malformedSignature = "Signature is malformed"
    case malformedDigest = "Content-Digest is malformed"
    case malformedBearer = "Authorization is malformed"
    case repeatedLabel = "the label carillon occurs twice"
    case missingSignature = "only one of Signature-Input and Signature has the label carillon"
    case wrongComponents = "the components are not \"@method\" \"@path\" \"@query\", with \"content-digest\" for a body"
    case missingParameter = "created, nonce, keyid or alg is missing"
    case repeatedParameter = "a parameter occurs twice"
    case unknownParameter = "a parameter is unknown"
    case wrongAlgorithm = "alg is not hmac-sha256"
    case wrongNonce = "the nonce does not have 16 to 64 characters"
    case tooLong = "the header fields are too long"
}
