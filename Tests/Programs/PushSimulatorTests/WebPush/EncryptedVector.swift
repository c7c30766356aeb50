import Testing

/// A message for a browser that another program has encrypted. All but the text is Base64URL.
struct EncryptedVector: Sendable, CustomTestStringConvertible {
    let text: String
    let privateKey: String
    let publicKey: String
    let secret: String
    let body: String

    var testDescription: String { "\(text.prefix(20))" }

    /// RFC 8291, section 5.
    static let standard = EncryptedVector(
        text: "When I grow up, I want to be a watermelon",
        privateKey: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94",
        publicKey: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        secret: "BTBZMqHH6r4Tts7J_aSIgg",
        body: "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
            + "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")

    /// Made with http_ece 1.2.1 for Python (https://github.com/web-push-libs/encrypted-content-encoding), with random
    /// keys: `http_ece.encrypt(text, private_key=sender, dh=publicKey, auth_secret=secret, version="aes128gcm")`.
    static let ofHTTPECE = [
        EncryptedVector(
            text: "x",
            privateKey: "so5j2x-yUzJnqpFBNzoTs4SixsQB_iZgx0Hbrmwz_Is",
            publicKey: "BAa05uqJfhFGNTPX4VciKI81lG_r41ZcMJcscaRe4Ti5I26a7MsEyTaUErjoHQHEoaFEN7U7OXqkQaajZQlnIhQ",
            secret: "DfecFyh9k5SMKdACiWFJGA",
            body:
                "2qGvunWnTk0C5AxgmabqXgAAEABBBAN4CTvzwo1-EnGI8UYUup1uV7p809aBX6aZ4umu9l048znwdo0Y7q5dUbJcLUfvDbhNAk9I"
                + "tN-s8S_QTcbd96OcjYFlh2nhR_MqSyApD6iB8eM"),
        EncryptedVector(
            text: #"{"web_push":8030,"notification":{"title":"Grüße 🔔","navigate":"https://shop.example.com/"}}"#,
            privateKey: "XdTGaNn37A2dsDaNJa1DAZKUu548bmgdBYpDkkbuhfE",
            publicKey: "BLE_4qPaBb32nEyLutGq8mq0q3iYO8Ocp8fqYzHR9ORVIENmyQ9tw_Zv_BSCZprK-YCO5P3H1Y-6kj_3U4eehDM",
            secret: "2F0Xy80jQor-NCkGKcAZoA",
            body:
                "tRUvlFoVlKKoN_EQYZCRFwAAEABBBNqHOQbcFLgIqs9xD-54JAD38AutclPuFBKf0H0ZlJYvoTeZrlI8mNlgcuLzumSHL_rEIPfT"
                + "JlWMm441L-7BFFlyJOXfFU5i0UzPvIajCttSB9UZlguNJa3dgon4VuMF7K75lgtgRwWlX_q3lK5X76XstZWI_UA8T3S__sGdqXV_"
                + "Oqf7lq0BSOMptdFwayUGLLaaQYWjOihB35NJuxLM94U_mIwwrdsVZkZI_jA4_WW4iQ"),
        EncryptedVector(
            text: String(repeating: "0123456789", count: 12),
            privateKey: "uCUSE5hdZCd0rphXZglr8-FaHd9avMijZGDxnV1BuXU",
            publicKey: "BG41X8NJ_lsQeCF_8ayFIyKdDIiQx8Z6s3kY-mIdmI24snbXrbW_0_WfNzJ9bvL1IDFY7mVLVu8r8DFb0IAkwvM",
            secret: "ABWxIJSiWAqdprY_DMwQsg",
            body:
                "K71aIAiG2MJoMWXAzUTaEgAAEABBBLr4rkBYYvtgFgN9nRODp0fKK88TxImqQGf1pWohirjfHyrs38GsjCXjc4IZTScPpowsfRql"
                + "qFKV9_QWkGiM3J0z2gb0GVis2YuoZN3HBevMMd6iN1N6NAj-r9CtAbC0HufZuCh04witTdIKX0yjUVx9roxBbsy0bW9I70jD1t94"
                + "XCAeG-B7BLY3eUYgzf691QnFusG0sWVTqYXng8uuSwXShNzH5LxH9Jp8SseHW5YtcGh9lQgDdMB8P-8xBx_yyKhJ8zjA-oX4cA"),
    ]
}
