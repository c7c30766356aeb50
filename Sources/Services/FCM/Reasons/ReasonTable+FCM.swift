package import PushModel

extension ReasonTable {
    /// The refusals of FCM: its error codes, the reasons of Google's front end, and the words for a status without one of
    /// these (Documentation/FCM.md, "What the answers mean").
    ///
    /// FCM has no id by which it knows a repetition, and messages with the answers 500 and 503 were seen on devices. So a
    /// message whose producer prefers a loss to a duplicate is not sent again after them.
    package static let fcm = ReasonTable(
        aboutDevices + aboutMessages + aboutQuotas + aboutService + aboutCredentials,
        credentialAdvice: "check the service account, its role and the project in the Google Cloud console",
        isUncertain: true, replacesAddresses: true
    ) { status in
        switch status {
        case 401: (.renewTokenOnce, .credential)
        // The project in the path is wrong, the API is disabled, or the account lacks its role. All of them concern each
        // message, and a 404 without an error code says nothing about the device.
        case 403, 404: (.halt, .credential)
        default: ReasonTable.ofStatus(status)
        }
    }

    private static let aboutDevices: [KnownReason] = [
        .init(
            404, names: ["UNREGISTERED"], disposition: .deactivate, concern: .device,
            meaning: "the app was uninstalled, or the token was replaced or has expired",
            advice: "stop sending to it; the device registers again if the app is opened"),
        .init(
            400, names: ["INVALID_TOKEN"], disposition: .deactivate, concern: .device,
            meaning: "the address is not a registration token or installation id (INVALID_ARGUMENT that names it)",
            advice: "register the token or the installation id exactly as the app gets it"),
        .init(
            403, names: ["SENDER_ID_MISMATCH"], disposition: .deactivate, concern: .device, isMisdirected: true,
            meaning: "the address belongs to another Firebase project",
            advice: "check that google-services.json of the app and the service account are those of one project"),
    ]

    private static let aboutMessages: [KnownReason] = [
        .init(
            400, names: ["INVALID_ARGUMENT"], disposition: .drop, concern: .notification,
            meaning: "the message has a member that FCM does not take",
            advice: "check the payload against Google's reference of the message; the device is kept"),
        .init(
            400, names: ["FAILED_PRECONDITION"], disposition: .drop, concern: .notification,
            meaning: "the message cannot be sent in the state of the project",
            advice: "check the payload and the project in the Firebase console"),
        .init(
            400, names: ["OUT_OF_RANGE"], disposition: .drop, concern: .notification,
            meaning: "a value of the message is out of range", advice: "correct the payload"),
    ]

    private static let aboutQuotas: [KnownReason] = [
        .init(
            429, names: ["QUOTA_EXCEEDED"], disposition: .retry, concern: .device,
            meaning: "too many messages to this device or topic", advice: "nothing to do: it is sent again later"),
        .init(
            429, names: ["PROJECT_QUOTA_EXCEEDED"], disposition: .retry, concern: .provider,
            meaning: "the project has sent more messages than its quota allows (QUOTA_EXCEEDED that names the project)",
            advice: "set quota.per_minute of the app to the quota of the project, or ask Google for more"),
        .init(
            429, names: ["RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"], disposition: .retry, concern: .provider,
            meaning: "the project has sent more requests than its quota allows",
            advice: "set quota.per_minute of the app to the quota of the project, or ask Google for more"),
    ]

    private static let aboutService: [KnownReason] = [
        .init(
            503, names: ["UNAVAILABLE"], disposition: .retry, concern: .provider,
            meaning: "FCM is overloaded; the message may have been delivered",
            advice: "nothing to do: it is sent again later"),
        .init(
            500, names: ["INTERNAL"], disposition: .retry, concern: .provider,
            meaning: "FCM failed; the message may have been delivered", advice: "nothing to do: it is sent again later"),
        .init(
            500, names: ["UNSPECIFIED_ERROR", "UNKNOWN", "DATA_LOSS"], disposition: .retry, concern: .provider,
            meaning: "FCM failed and gives no reason; the message may have been delivered",
            advice: "nothing to do: it is sent again later"),
        .init(
            504, names: ["DEADLINE_EXCEEDED"], disposition: .retry, concern: .provider,
            meaning: "FCM did not answer in its own time; the message may have been delivered",
            advice: "nothing to do: it is sent again later"),
        .init(
            409, names: ["ABORTED"], disposition: .retry, concern: .provider, meaning: "FCM gave up the request",
            advice: "nothing to do: it is sent again later"),
    ]

    private static let aboutCredentials: [KnownReason] = [
        // Another access token does not help, and only the devices behind APNs or Web Push are concerned.
        .init(
            401, names: ["THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"], disposition: .retry, concern: .credential,
            meaning: "the key for APNs or Web Push in the Firebase project is missing or invalid",
            advice: "upload a valid key under Project settings, Cloud Messaging, in the Firebase console"),
        .init(
            401, names: ["ACCESS_TOKEN_EXPIRED"], disposition: .renewTokenOnce, concern: .credential,
            meaning: "the access token has ended", advice: "check this machine's clock"),
        .init(
            401, names: ["UNAUTHENTICATED", "ACCESS_TOKEN_TYPE_UNSUPPORTED", "CREDENTIALS_MISSING"],
            disposition: .renewTokenOnce, concern: .credential, meaning: "the access token is not valid",
            advice: "check that the key of the service account was not deleted, and this machine's clock"),
        .init(
            403, names: ["PERMISSION_DENIED", "IAM_PERMISSION_DENIED"], disposition: .halt, concern: .credential,
            isForbidden: true, meaning: "the service account may not send for the project",
            advice: "give it the role Firebase Cloud Messaging API Admin, and check that it belongs to the project"),
        .init(
            403, names: ["SERVICE_DISABLED", "API_DISABLED"], disposition: .halt, concern: .credential,
            isForbidden: true, meaning: "the Firebase Cloud Messaging API is disabled in the project",
            advice: "enable it under Project settings, Cloud Messaging, in the Firebase console"),
        .init(
            403, names: ["CONSUMER_INVALID", "CONSUMER_SUSPENDED", "BILLING_DISABLED"], disposition: .halt,
            concern: .credential, isForbidden: true, meaning: "Google does not serve the project",
            advice: "check the project in the Google Cloud console"),
        .init(
            404, names: ["NOT_FOUND"], disposition: .halt, concern: .credential,
            meaning: "there is no such project, or the host is not FCM",
            advice: "check project_id in the file of the service account, and the endpoint"),
    ]
}
